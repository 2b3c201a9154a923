"""What data have beside their matrix (target, offset, exposure, groups), and what an algorithm or a model makes of it: it is used, or refused by name."""
from collections.abc import Collection, Mapping
from typing import Any

from ._errors import BadArgument, BadOption
from ._heads import takes_several
from ._options import Options, keys_of

GROUPS = "by:"  # how the option folds names a column of groups


def check_given(algorithm: Any, target: Any, load: Mapping[str, Any], from_files: bool) -> None:
    """Refuses what a training of the algorithm would not use, before the data are read."""
    name = algorithm.name.decode()
    if target is not None and algorithm.no_target and not from_files:  # a column of a file is then no feature
        raise BadOption(f"target: {name} uses none; leave it out")
    check_exposure(algorithm, load.get("exposure"))


def check_exposure(algorithm: Any, exposure: Any) -> None:
    """Raises an error if the logarithm of an exposure is no offset of the models."""
    if exposure not in (None, "none") and not algorithm.log_link:
        raise BadOption(f"exposure = '{exposure}': {algorithm.name.decode()} has no log link, so the logarithm of an exposure is no offset of it "
                        "(that of 'poisson' is one); offset adds a column as it is")


def check_offset(algorithm: Any, has_offset: bool) -> None:
    if has_offset and algorithm.no_offset:
        raise BadOption(f"offset: {algorithm.name.decode()} has no offset; leave it out"
                        f"{', or subtract it from the targets' if takes_several(algorithm) else ''}")


def column_of_groups(groups: Any, keywords: Mapping[str, Any]) -> Any:
    """Returns the column of files that has the groups: `groups`, or that of folds="by:COLUMN"; None if there is none."""
    folds = keywords.get("folds")
    by = folds.removeprefix(GROUPS) if isinstance(folds, str) and folds.startswith(GROUPS) else None
    if groups is not None and not isinstance(groups, str):
        raise BadArgument("groups: of files, give the name or number of their column as a text")
    if groups is not None and by is not None and groups != by:
        raise BadOption(f"groups = '{groups}' and folds = '{folds}' name two columns; give one of them")
    return by if groups is None else groups


def check_groups(algorithm: Any, groups: Any) -> None:
    """Raises an error if groups are given to an algorithm that makes no folds of them."""
    if groups is None:
        return
    keys = keys_of(algorithm.rows)
    if isinstance(groups, int) and "groups" in keys:
        raise BadArgument(f"groups = {groups}: give one number per row; the option of solver='dbpg' is groups_ in Python")
    if "cv" not in keys:
        raise BadOption(f"groups: {algorithm.name.decode()} has no cross-validation, for whose folds they are; leave them out")


def check_crossed(groups: Any, crossed: bool) -> None:
    if groups is not None and not crossed:
        raise BadOption("groups: they are for the folds of cv=K, and there is no cv; leave them out")


def deal_by_groups(chosen: Options, has_groups: bool, given: Any, fold_array: bool) -> None:
    """Lets a cross-validation keep the groups of the data together. `given` are those of the call: a Dataset may have some for other trainings."""
    crossed = chosen.text("cv") is not None
    check_crossed(given, crossed)
    if not has_groups or not crossed:
        return
    folds = chosen.text("folds")
    if fold_array or not (folds is None or folds.startswith(GROUPS)):
        raise BadOption("groups and folds: both say how rows are dealt to the folds; give one of them")
    if folds is None:
        chosen.fill({"folds": GROUPS + (given if isinstance(given, str) else "groups")})


def check_collections(algorithm: Any, given: Mapping[str, Any], options: Mapping[str, Any], variables: Collection[bytes]) -> None:
    """Refuses what is beside the rows of collections, before they are computed, where a training of each node would not use it."""
    check_given(algorithm, given.get("target"), {}, False)
    check_offset(algorithm, given.get("offset") is not None)
    check_groups(algorithm, given.get("groups"))
    check_crossed(given.get("groups"), options.get("cv") is not None or b"HAWSER_CV" in variables)


__all__ = ["check_collections", "check_exposure", "check_given", "check_groups", "check_offset", "column_of_groups", "deal_by_groups"]
