"""Tries a seeded sample of mutants (small mistakes) of a package or of the templates, each in a copy of the checkout with the tests that read the file.

Mistakes in Python are made by cosmic-ray; annotations and decorators are not changed, since no test could notice. Mistakes in templates: a line is left
out, an expression is replaced by its output for a file of few options, a constant is another one, a condition is negated. The comparison with tests/golden
does not count, since those files are written by the templates. Started by tests/run-mutation.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import difflib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names
from jinja2 import Environment, FileSystemLoader, StrictUndefined

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = "templates"
USUAL = ("plan", "epp", "inference", "benchmark", TEMPLATES)
# Tests of a whole package, run after those that are named after a module or import it.
AROUND = {
    "plan": ["tests/unit/roles", "tests/unit/plugins/module_utils/schema", "tests/unit/plugins/module_utils/validation/test_benchmark_runs.py"],
    "benchmark": ["tests/unit/plugins/modules/test_vllm_perf"],
    "inference": ["tests/unit/plugins/modules/test_health_returned.py"],
    TEMPLATES: [
        "tests/unit/roles/test_templates_print_the_plan.py",
        "tests/unit/roles",
        "tests/contract/test_pods.py",
        "tests/contract/test_gateway_listeners.py",
        "tests/contract/test_gateway_providers.py",
    ],
}
# Tests that start programs which have to be built, that take minutes, or that compare with files which the code under test has written.
TIMING = ".mark.timing"
SLOW = re.compile(r"go_compiler|run_playbook|plays\.(run|well)|definitions_of_others|golden/manifests")
# In the first paragraph of the docstring of a pure module, as in tests/contract/test_architecture.py; modules of data alone have no code to mutate.
PURE = re.compile(r"\b(Pure|Computes only|Shapes only)\b")
# Operators of cosmic-ray without effect, and `is` for `==`, which is the same for most constants.
NEVER = re.compile(r"core/(RemoveDecorator|NoOp|Variable|.*_Is$|.*_IsNot$)")
# Modules that are not pure but only evaluate data that others fetch.
JUDGING = ("plugins/module_utils/inference/health.py",)


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One mistake: the whole text of the file without it and with it."""

    path: str
    original: str
    text: str

    def __str__(self) -> str:
        """file:line, the original line, and that of the mutant."""
        lines = list(difflib.unified_diff(self.original.splitlines(), self.text.splitlines(), n=0, lineterm=""))[2:]
        number = re.match(r"@@ -(\d+)", lines[0]).group(1)  # type: ignore[union-attr]
        return "\n    ".join([f"{self.path}:{number}", *(line for line in lines[1:])])


def python_files(package: str, part: str) -> list[str]:
    """The pure modules of a package."""
    paths = []
    for path in sorted(Path("plugins/module_utils", package).rglob("*.py")):
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        if PURE.search(docstring.split("\n\n")[0]) or str(path) in JUDGING:
            paths.append(str(path))
    return [path for path in paths if part in path]


def unnoticed(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """(start, end) of the code without an effect when the program runs: annotations, decorators, and code for type checkers."""
    spans: list[ast.AST] = []
    for node in ast.walk(ast.parse(source)):
        spans += getattr(node, "decorator_list", [])
        spans += [part for part in (getattr(node, "annotation", None), getattr(node, "returns", None)) if part]
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") in ("cast", "NewType"):
            spans += node.args[:1]
        if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Subscript, ast.BinOp)) and "t." in ast.unparse(node.value)[:2]:
            spans.append(node)
    return [((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)) for node in spans]  # type: ignore[attr-defined, misc]


def python_mutants(path: str, rng: random.Random, number: int) -> list[Mutant]:
    """Up to `number` mutants of a module, at distinct positions."""
    source = Path(path).read_text(encoding="utf-8")
    tree, blind = get_ast(source), unnoticed(source)
    places: dict[tuple[tuple[int, int], tuple[int, int]], list[tuple[str, int]]] = {}
    for name in operator_names():
        if NEVER.match(name):
            continue
        operator = get_operator(name)()
        positions = [place for node in ast_nodes(tree) for place in operator.mutation_positions(node)]
        for occurrence, (start, end) in enumerate(positions):
            if not any(first <= start and end <= last for first, last in blind):
                places.setdefault((start, end), []).append((name, occurrence))
    mutants = []
    for place in rng.sample(sorted(places), min(number, len(places))):
        name, occurrence = rng.choice(places[place])
        text = mutate_code(source, get_operator(name)(), occurrence)
        if text is not None and text != source and compiles(text):
            mutants.append(Mutant(path, source, text))
    return mutants


def compiles(text: str) -> bool:
    try:
        compile(text, "mutant", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


def template_files(part: str) -> list[str]:
    paths = [path for path in sorted(Path().glob("roles/*/templates/*.yml.j2")) if "local_cluster" not in path.parts]
    return [str(path) for path in paths if part in str(path)]


def template_mutants(path: str, rng: random.Random, number: int, plans: list[dict[str, object]]) -> list[Mutant]:
    """Up to `number` mutants of a template."""
    original = Path(path).read_text(encoding="utf-8")
    lines = original.splitlines(keepends=True)
    texts: list[str] = []
    for index, line in enumerate(lines):
        printed = re.fullmatch(r"(\s*(?:- )?[\w./-]+: )(\{\{ .+ \}\}|[\w./\"-]+)\s*(#.*)?\n", line)
        condition = re.fullmatch(r"\{% if (.+) %\}\n", line)
        if printed:
            head, value, _comment = printed.groups()
            if not head.lstrip().startswith("- ") and head.strip() not in ("kind:", "apiVersion:"):
                texts.append(replaced(lines, index, ""))
            if value.startswith("{{"):
                texts += [replaced(lines, index, f"{head}{usual}\n") for usual in frozen(path, lines, index, plans)]
            else:
                texts.append(replaced(lines, index, f"{head}{other(value)}\n"))
        elif condition:
            texts.append(replaced(lines, index, f"{{% if not ({condition.group(1)}) %}}\n"))
            texts.append(replaced(lines, index, "{% if true %}\n"))
    return [Mutant(path, original, text) for text in rng.sample(texts, min(number, len(texts)))]


def replaced(lines: list[str], index: int, line: str) -> str:
    return "".join([*lines[:index], line, *lines[index + 1 :]])


def other(value: str) -> str:
    """Another constant of the same type."""
    if value in ("true", "false"):
        return "false" if value == "true" else "true"
    return str(int(value) + 1) if value.isdigit() else "Mutant"


def frozen(path: str, lines: list[str], index: int, plans: list[dict[str, object]]) -> list[str]:
    """The first output of the expression of a line for the first plan that renders it, as a template might have it as a constant: at most one."""
    marked = replaced(lines, index, re.sub(r"\{\{ (.+?) \}\}", r"<<<{{ \1 }}>>>", lines[index]))
    environment = Environment(loader=FileSystemLoader(Path(path).parent), undefined=StrictUndefined, trim_blocks=True, autoescape=False)
    environment.filters["to_json"] = lambda value: json.dumps(value, default=str)
    environment.filters["bundle"] = str
    for plan in plans:
        try:
            shown = re.search(r"<<<(.*?)>>>", environment.from_string(marked).render(plan=plan))
        except Exception:  # not a whole template, but a part of one
            continue
        if shown:
            return [shown.group(1)]
    return []


def tests_of(path: str, package: str, texts: dict[str, str]) -> list[str]:
    """The tests of a file, the nearest first: named after it, importing it, of its package, related to its package. texts: of all tests, by path."""
    name = Path(path).stem
    imports = re.compile(rf"module_utils\.{package}\b[\w.]*(\.{name} import|\s+import [^\n]*\b{name}\b)")
    own = [test for test in texts if named_after(path, test)]
    readers = [test for test, text in texts.items() if imports.search(text)]
    near = [test for test in texts if test.startswith(f"tests/unit/plugins/module_utils/{package}/")]
    around = [test for start in AROUND.get(package, []) for test in texts if test.startswith(start)]
    if package == TEMPLATES:
        return list(dict.fromkeys(around))
    return list(dict.fromkeys([*own, *readers, *near, *around]))


def named_after(path: str, test: str) -> bool:
    """Whether a test file is named after a module."""
    return test.endswith(f"/{Path(path).parent.name}/test_{Path(path).stem}.py")


def outcome_with(mutant: Mutant, tests: list[str], seconds: float) -> str:
    """passed, failed or timeout. The tests that are named after the file run first, alone: if they fail, the others need not be collected."""
    own = [test for test in tests if named_after(mutant.path, test)]
    outcome = outcome_of(own, seconds)[0] if own else "passed"
    rest = [test for test in tests if test not in own]
    return outcome_of(rest, seconds)[0] if outcome == "passed" and rest else outcome


def outcome_of(tests: list[str], seconds: float, marked: str = "not rest and not timing") -> tuple[str, str]:
    """(passed, failed or timeout; the output of pytest). marked: pytest's -m."""
    command = ["nice", "-n", "19", "env", "--default-signal=INT", str(ROOT / ".venv/bin/pytest"), "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command += ["-m", marked, "--tb=line", "--hypothesis-seed=0", *tests]
    environment = {**os.environ, "ANSIBLE_CONFIG": str(Path("ansible.cfg").resolve()), "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True) as started:
        try:
            output, _nothing = started.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            return "timeout", ""
    return ("passed" if started.returncode in (0, pytest.ExitCode.NO_TESTS_COLLECTED) else "failed"), output


def killed_by_time(mutant: Mutant, tests: list[str]) -> bool:
    """Whether a test that measures time fails with the mutant and passes without it: on a busy host it may fail in any case."""
    if outcome_of(tests, 600, "timing and not rest")[0] == "passed":
        return False
    Path(mutant.path).write_text(mutant.original, encoding="utf-8")
    return outcome_of(tests, 600, "timing and not rest")[0] == "passed"


def copied(scratch: Path) -> Path:
    """A copy of the files of the checkout, with its virtual environment."""
    copy = scratch / "checkout"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split("\0")
    for name in filter(None, listed):
        if (ROOT / name).is_symlink() or (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)
    if not (copy / ".venv").exists():
        (copy / ".venv").symlink_to((ROOT / ".venv").resolve())
    return copy


def plans_of() -> list[dict[str, object]]:
    """The plans of the inventories, to render templates with."""
    code = (
        "import sys, json; sys.path[:0] = ['tests', '.']; import plays; from tools.manifests import names, case\n"
        "print(json.dumps([case(name)[0] for name in sorted(names(), key=lambda name: name != 'sample-minimal')], default=str))"
    )
    done = subprocess.run([str(ROOT / ".venv/bin/python"), "-c", code], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def sample(package: str, options: argparse.Namespace) -> list[Mutant]:
    """The mutants to try, in random order, from all files; long files have more."""
    rng = random.Random(f"{options.seed} {package}")
    files = template_files(options.file) if package == TEMPLATES else python_files(package, options.file)
    plans = plans_of() if package == TEMPLATES else []
    sizes = [len(Path(path).read_text(encoding="utf-8").splitlines()) for path in files]
    chosen = rng.choices(files, weights=sizes, k=options.mutants) if files else []
    mutants: list[Mutant] = []
    for path in files:
        number = chosen.count(path)
        mutants += template_mutants(path, rng, number, plans) if package == TEMPLATES else python_mutants(path, rng, number)
    rng.shuffle(mutants)
    return mutants


def score(package: str, options: argparse.Namespace) -> bool:
    """Print the results of the mutants of a package. False if its tests fail without a mutant."""
    texts, by_time = {}, {}
    for path in sorted([*Path("tests/unit").rglob("test_*.py"), *Path("tests/contract").glob("test_*.py")]):
        text = path.read_text(encoding="utf-8")
        if TIMING in text:
            by_time[str(path)] = text
        if not SLOW.search(text) or (package == TEMPLATES and "definitions_of_others" in text):
            texts[str(path)] = text
    mutants = sample(package, options)
    wanted = {mutant.path: tests_of(mutant.path, package, texts) for mutant in mutants}
    begun = time.monotonic()
    outcome, output = outcome_of(sorted({test for paths in wanted.values() for test in paths}), 1800)
    if outcome != "passed":
        print(f"{package}: the tests fail without a mutant\n{output[-3000:]}")
        return False
    whole, begun = time.monotonic() - begun, time.monotonic()
    print(f"{package}: {len(mutants)} mutants of {len(wanted)} files (seed {options.seed}); its tests take {whole:.0f} s", flush=True)
    tried, survived = 0, []
    for mutant in mutants:
        if time.monotonic() - begun > options.minutes * 60:
            break
        Path(mutant.path).write_text(mutant.text, encoding="utf-8")
        outcome = outcome_with(mutant, wanted[mutant.path], 3 * whole + 30)
        lives = outcome == "passed" and not killed_by_time(mutant, tests_of(mutant.path, package, by_time))
        Path(mutant.path).write_text(mutant.original, encoding="utf-8")
        tried += 1
        if lives:
            survived.append(mutant)
            print(f"  survived: {mutant}", flush=True)
    killed = tried - len(survived)
    print(f"{package}: {killed} of {tried} killed ({100 * killed / max(1, tried):.0f} %), {(time.monotonic() - begun) / 60:.0f} minutes", flush=True)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("packages", nargs="*", default=USUAL, help=f"if omitted: {', '.join(USUAL)}")
    parser.add_argument("--mutants", type=int, default=30, help="for each package (30)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed makes the same mutants of the same files (1)")
    parser.add_argument("--minutes", type=float, default=30, help="after which no further mutant of a package is tried (30)")
    parser.add_argument("--file", default="", help="only files with this in their path")
    parser.add_argument("--scratch", type=Path, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.chdir(copied(options.scratch))
    return 1 if [package for package in options.packages if not score(package, options)] else 0


if __name__ == "__main__":
    sys.exit(main())
