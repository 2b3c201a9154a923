"""Builds the wheel and the sdist: the backend of pyproject.toml (PEP 517), on the standard library alone.

    tools/wheel.py FOLDER    writes both into a folder

The library and the command are built in $HAWSER_WHEEL_BUILD, a folder that CMake has configured already, else in build/wheel. A wheel is for the
machine that it was built on; script/wheel makes it fit others by auditwheel.
"""
import base64
import hashlib
import io
import os
import pathlib
import subprocess
import sys
import tarfile
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TAG = "py3-none-linux_x86_64"
EPOCH = (2026, 1, 1, 0, 0, 0)  # the time of every file, so that equal sources give equal wheels


def version() -> str:
    text = (ROOT / "include" / "hawser" / "version.h").read_text()
    return text.split("#define HAWSER_VERSION ", 1)[1].split('"')[1]


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def metadata() -> str:
    about = project()
    lines = ["Metadata-Version: 2.1", f"Name: {about['name']}", f"Version: {version()}", f"Summary: {about['description']}",
             f"Requires-Python: {about['requires-python']}", f"License: {about['license']}"]
    lines += [f"Requires-Dist: {needed}" for needed in about["dependencies"]]
    for extra, needs in about["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}"] + [f'Requires-Dist: {needed}; extra == "{extra}"' for needed in needs]
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", (ROOT / "docs" / "python.md").read_text()])


def build() -> pathlib.Path:
    """Builds the library and the command that draws no plots; returns the folder that has them."""
    given = os.environ.get("HAWSER_WHEEL_BUILD")
    folder = pathlib.Path(given) if given else ROOT / "build" / "wheel"
    if not given:
        subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DHAWSER_TESTS=OFF",
                        "-DHAWSER_PLOTS=OFF"], check=True, stdout=sys.stderr)
    subprocess.run(["cmake", "--build", folder, "--target", "hawser_shared", "hawser_plain"], check=True, stdout=sys.stderr)
    return folder / "src"


class Wheel:
    """A wheel that is being written."""

    def __init__(self, path: pathlib.Path) -> None:
        self.file = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.record: list[str] = []

    def add(self, name: str, data: bytes, mode: int = 0o644) -> None:
        entry = zipfile.ZipInfo(name, EPOCH)
        entry.external_attr, entry.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
        self.file.writestr(entry, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(data)}")

    def close(self, record: str) -> None:
        self.record.append(f"{record},,")
        self.file.writestr(zipfile.ZipInfo(record, EPOCH), "\n".join(self.record) + "\n")
        self.file.close()


def build_wheel(folder: str, config_settings: object = None, metadata_directory: object = None) -> str:
    built, name = build(), f"hawser-{version()}"
    wheel = Wheel(pathlib.Path(folder) / f"{name}-{TAG}.whl")
    for path in sorted((ROOT / "python" / "hawser").rglob("*")):
        if path.suffix == ".py" or path.name == "py.typed":
            wheel.add(path.relative_to(ROOT / "python").as_posix(), path.read_bytes())
    wheel.add("hawser/lib/libhawser.so.0", (built / "libhawser.so.0").read_bytes(), 0o755)
    wheel.add("hawser/bin/hawser", (built / "hawser_plain").read_bytes(), 0o755)
    about = f"{name}.dist-info"
    wheel.add(f"{about}/METADATA", metadata().encode())
    wheel.add(f"{about}/WHEEL", f"Wheel-Version: 1.0\nGenerator: hawser\nRoot-Is-Purelib: false\nTag: {TAG}\n".encode())
    scripts = "".join(f"{key} = {value}\n" for key, value in project()["scripts"].items())
    wheel.add(f"{about}/entry_points.txt", f"[console_scripts]\n{scripts}".encode())
    wheel.add(f"{about}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes())
    wheel.close(f"{about}/RECORD")
    return f"{name}-{TAG}.whl"


def build_sdist(folder: str, config_settings: object = None) -> str:
    name = f"hawser-{version()}"
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True, capture_output=True, text=True).stdout
    with tarfile.open(pathlib.Path(folder) / f"{name}.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as file:
        info = tarfile.TarInfo(f"{name}/PKG-INFO")
        text = metadata().encode()
        info.size = len(text)
        file.addfile(info, io.BytesIO(text))
        for path in filter(None, listed.split("\0")):
            if path.split("/")[0] in SHIPPED and (ROOT / path).is_file():
                file.add(ROOT / path, f"{name}/{path}", recursive=False)
    return f"{name}.tar.gz"


# What a build needs of the tree.
SHIPPED = {"CMakeLists.txt", "LICENSE", "README.md", "cmake", "docs", "include", "pyproject.toml", "python", "src"}


if __name__ == "__main__":
    print(build_sdist(sys.argv[1]))
    print(build_wheel(sys.argv[1]))
