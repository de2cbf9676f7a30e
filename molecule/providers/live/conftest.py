"""The local cluster's address, and the collection where Ansible would find it."""

from __future__ import annotations

from pathlib import Path

from ansible.utils.collection_loader._collection_finder import _AnsibleCollectionFinder

ROOT = Path(__file__).resolve().parents[3]
_AnsibleCollectionFinder(paths=[str(ROOT / "collections")])._install()
