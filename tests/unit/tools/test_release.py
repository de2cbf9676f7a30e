"""make release creates files that users can verify, and publishes nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
import yaml
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from tools.sbom import built, sbom

ROOT = Path(__file__).resolve().parents[3]
BIN = Path(sys.executable).parent


def test_the_bill_of_materials_is_cyclonedx_and_has_all_kinds() -> None:
    text = sbom(ROOT, "9.8.7")
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    document = json.loads(text)
    urls = [part["purl"] for part in document["components"]]
    modules = {("/".join(filter(None, [part.get("group"), part["name"]])), part.get("version")) for part in document["components"]}
    kinds = {url.split("/")[0] for url in urls}
    assert kinds == {"pkg:generic", "pkg:pypi", "pkg:golang", "pkg:oci"} and len(urls) == len(set(urls)) > 1000
    assert document["metadata"]["component"]["version"] == "9.8.7"
    for file in (ROOT / "roles/local_cluster/files/go").glob("*/go.mod"):
        words = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
        replaced = {each[-4]: (each[-2], each[-1]) for each in words if each[-3:-2] == ["=>"]}
        assert not [each for each in words if each[2:] == ["//", "indirect"] and replaced.get(each[0], (each[0], each[1])) not in modules], file
    assert ("k8s.io/kubernetes", "v1.34.4") in modules and ("k8s.io/api", "v0.34.4") in modules and ("k8s.io/api", "v0.0.0") not in modules


def test_the_bill_of_materials_has_the_packages_of_modules_and_of_the_local_cluster() -> None:
    parts = [part for part in json.loads(sbom(ROOT, "9.8.7"))["components"] if part["purl"].startswith("pkg:pypi/")]
    pinned = {(part["name"], part.get("version")) for part in parts}
    assert {"h2", "cryptography", "kubernetes"} <= {part["name"] for part in parts if part.get("properties")}
    for name in ("requirements.txt", "vllm/requirements.txt"):
        lines = (ROOT / "roles/local_cluster/files" / name).read_text(encoding="utf-8").splitlines()
        wanted = [line.split("==") for line in lines if line and not line.startswith("#")]
        assert wanted and {(package.lower().replace("_", "-"), version) for package, version in wanted} <= pinned


def test_a_module_that_replaces_another_is_the_one_that_is_built() -> None:
    required = "require (\n\ta.io/one v1.0.0\n\ta.io/two v0.0.0 // indirect\n)\n"
    text = f"{required}replace a.io/two v0.0.0 => b.io/two v2.0.0\nreplace (\n\ta.io/one => a.io/one v1.1.0\n)\n"
    assert [*built(text)] == [("a.io/one", "v1.1.0"), ("b.io/two", "v2.0.0")]


class Checkout:
    """A separate checkout, and a home of GnuPG with one key."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.environment = {**os.environ, "GNUPGHOME": str(home), "PATH": f"{BIN}:{os.environ['PATH']}", "GIT_CONFIG_GLOBAL": "/dev/null"}
        names = self.run("git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).stdout.splitlines()
        folder.mkdir()
        subprocess.run(["cp", "--parents", "--no-dereference", *(name for name in names if os.path.lexists(ROOT / name)), str(folder)], cwd=ROOT, check=True)
        self.run("git", "init", "--quiet")
        self.commit()

    def run(self, *command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(command, cwd=cwd or self.folder, env=self.environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def commit(self) -> None:
        self.run("git", "add", "--all")
        self.run("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message", "a")

    def release(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "tools/release.py", *arguments]
        return subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False)


@pytest.fixture(name="checkout", scope="module")
def _checkout(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Checkout]:
    home = tmp_path_factory.mktemp("gpg")  # the length of a socket's path is limited
    home.chmod(0o700)
    checkout = Checkout(tmp_path_factory.mktemp("release") / "checkout", home)
    yield checkout
    subprocess.run(["gpgconf", "--kill", "all"], env=checkout.environment, check=False)


@pytest.mark.rest
def test_a_release_that_cannot_be_made_is_refused_and_changes_nothing(checkout: Checkout) -> None:
    assert "'1.0' is not a version" in checkout.release("1.0").stderr
    assert "GnuPG has no secret key: create one with `gpg --quick-generate-key`" in checkout.release("9.8.7").stderr
    checkout.run("gpg", "--batch", "--passphrase", "", "--quick-generate-key", "me@example.com")
    (checkout.folder / "README.md").write_text("changed", encoding="utf-8")
    assert "has changes that are not committed:\n M README.md" in checkout.release("9.8.7").stderr
    checkout.run("git", "checkout", "README.md")
    (checkout.folder / "beside.txt").write_text("planted", encoding="utf-8")
    assert "has changes that are not committed:\n?? beside.txt" in checkout.release("9.8.7").stderr
    (checkout.folder / "beside.txt").unlink()
    assert not checkout.run("git", "status", "--porcelain").stdout


@pytest.mark.rest
def test_release_files_can_be_verified_by_checksum_and_signature(checkout: Checkout, tmp_path: Path) -> None:
    (checkout.folder / ".git/info/exclude").write_text("my-vault.txt\n", encoding="utf-8")
    (checkout.folder / "my-vault.txt").write_text("planted", encoding="utf-8")
    for _again in range(2):
        done = checkout.release("9.8.7", "--key", "me@example.com")
        assert done.returncode == 0, done.stderr
    assert "Nothing is published" in done.stdout
    folder = checkout.folder / "artifacts/release/9.8.7"
    name = "llm_d-inference-9.8.7"
    assert sorted(path.name for path in folder.iterdir()) == ["SHA256SUMS", "SHA256SUMS.asc", f"{name}.asc", f"{name}.cdx.json", f"{name}.tar.gz"]
    checkout.run("sha256sum", "--strict", "--check", "SHA256SUMS", cwd=folder)
    checkout.run("gpg", "--verify", "SHA256SUMS.asc", "SHA256SUMS", cwd=folder)
    key = tmp_path / "key.gpg"
    key.write_bytes(subprocess.run(["gpg", "--export"], env=checkout.environment, capture_output=True, check=True).stdout)
    here = ["-p", str(tmp_path / "here")]
    checkout.run("ansible-galaxy", "collection", "install", f"{name}.tar.gz", "--no-deps", "--offline", *here, cwd=folder)
    signed = ["--signature", f"file://{folder}/{name}.asc", "--required-valid-signature-count", "1", "--keyring", str(key)]
    verify = ["ansible-galaxy", "collection", "verify", "llm_d.inference:9.8.7", "--offline", *here, *signed]
    checkout.run(*verify, cwd=folder)
    assert not list((tmp_path / "here").rglob("my-vault.txt")), "a file that git ignores"
    manifest = tmp_path / "here/ansible_collections/llm_d/inference/MANIFEST.json"
    manifest.write_text(manifest.read_text(encoding="utf-8") + " ", encoding="utf-8")
    with pytest.raises(AssertionError, match="[Ss]ignature"):
        checkout.run(*verify, cwd=folder)


@pytest.mark.rest
def test_the_checkout_has_the_version_and_its_changelog(checkout: Checkout) -> None:
    assert checkout.release("9.8.7").returncode == 0
    assert yaml.safe_load((checkout.folder / "galaxy.yml").read_text(encoding="utf-8"))["version"] == "9.8.7"
    assert "## v9\\.8\\.7" in (checkout.folder / "CHANGELOG.md").read_text(encoding="utf-8")
    assert not list((checkout.folder / "changelogs/fragments").glob("*.yml"))
    assert "llm_d-inference-9.8.7.asc" in (checkout.folder / "SECURITY.md").read_text(encoding="utf-8")


@pytest.mark.rest
def test_a_second_run_takes_no_other_changes(checkout: Checkout) -> None:
    assert checkout.release("9.8.7").returncode == 0
    (checkout.folder / "README.md").write_text("changed", encoding="utf-8")
    assert checkout.release("9.8.7").stderr.endswith("has changes that are not committed:\n M README.md\n")
    checkout.run("git", "checkout", "README.md")
