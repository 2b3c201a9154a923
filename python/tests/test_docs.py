"""The code of the pages on Python, and of the README, runs as it stands there, one block after another, in one script."""
import pathlib
import re

import numpy as np
import pytest

import hawser

TOP = pathlib.Path(__file__).resolve().parents[2]
PAGES = [TOP / "docs" / f"python{name}.md" for name in ("", "-estimators", "-nodes", "-programs", "-store", "-vectors")]
ELSEWHERE = {"hawser.spark": "in tests/cluster", "hawser.dask": "in tests/cluster", "store.serve(": "until Ctrl-C, in test_store.py"}


@pytest.mark.skipif(not PAGES[0].exists(), reason="the docs are not here")
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning", "ignore::hawser.ConvergenceWarning")
def test_blocks_run(tmp_path, monkeypatch):
    pytest.importorskip("sklearn")
    pytest.importorskip("pandas")
    pytest.importorskip("numba")
    monkeypatch.chdir(tmp_path)
    names, skipped = {}, 0
    for page in PAGES:
        text = page.read_text()
        blocks = list(re.finditer(r"^```python\n(.*?)^```", text, re.M | re.S))
        assert blocks, page
        for block in blocks:
            if any(word in block[1] for word in ELSEWHERE):
                skipped += 1
                continue
            line = text[:block.start(1)].count("\n")
            exec(compile("\n" * line + block[1], str(page), "exec"), names)  # so that a traceback has the page's lines
    assert skipped == len(ELSEWHERE)
    # What the pages say of some of them.
    assert np.array_equal(hawser.Model.load("lasso.model").coefficients, names["lasso"].coef_)
    assert names["tasks"].coefficients.shape == (2, 20) and names["run"].clocks > 1
    # The descent is least squares without an intercept.
    exact = np.linalg.lstsq(names["X"], names["y"], rcond=None)[0]
    np.testing.assert_allclose(names["run"]["w"], exact, atol=1e-3)


@pytest.mark.skipif(not PAGES[0].exists(), reason="the docs are not here")
def test_readme(tmp_path, monkeypatch):
    pytest.importorskip("sklearn")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```", TOP.joinpath("README.md").read_text(), re.M | re.S):
        exec(compile(block, "README.md", "exec"), names)
    np.testing.assert_allclose(hawser.Model.load("mine.model").coefficients[[0, 3]], [1, -2], atol=0.1)
    np.testing.assert_allclose(names["array"], 1, atol=1e-6)


@pytest.mark.skipif(not PAGES[0].exists(), reason="the docs are not here")
def test_nothing_says_that_an_index_has_the_package():
    """The name on the public index is other people's."""
    texts = [*TOP.glob("*.md"), *TOP.glob("docs/**/*.md"), *TOP.glob("python/hawser/**/*.py"), *TOP.glob("examples/**/*"), *TOP.glob("src/cli/**/*.c")]
    wrong = re.compile(r"\b(install|add) ([^\n`]{0,40} )?['\"]?hawser(\[|['\"`), ]|$)", re.M)
    assert wrong.search("(pip install hawser), or") and wrong.search("pip install 'hawser[units]'") and not wrong.search("pip install build/wheels/*.whl")
    assert len(texts) > 100 and not [path for path in texts if path.is_file() and wrong.search(path.read_text())]
