"""Pins: which commit of which repository holds the contract files that a bundle carries.

A bundle states `sourceCommit`, or null while no commit holds its files. Its digests are
always recomputed from the bytes it carries; they are compared with Git's objects where
the repository, or the one RULITH_CONTRACT_REPO names, is at hand. A shallow clone that
lacks the commit, or no repository at all, is said in a line; a full clone that cannot
resolve the commit is a failure. Standard library only.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from protocol.generate import BUNDLES, bundle, git_blob_oid

REPOSITORY_VARIABLE = "RULITH_CONTRACT_REPO"
_COMMIT = re.compile(r"[0-9a-f]{40}")


def _git(repository: Path, *words: str) -> subprocess.CompletedProcess[str]:
    # inherited GIT_* would point at another repository, e.g. inside a hook
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(
        ["git", "-C", str(repository), *words], capture_output=True, text=True, env=environment, encoding="utf-8"
    )


def _repository(root: Path) -> tuple[Path | None, str]:
    """The repository to compare with, or None and why there is none. SystemExit when Git itself fails on one."""
    named = os.environ.get(REPOSITORY_VARIABLE)
    path = Path(named) if named else root
    try:
        found = _git(path, "rev-parse", "--show-toplevel" if not named else "--git-dir") if path.is_dir() else None
    except FileNotFoundError:
        return None, "git is not installed"
    if found is None or found.returncode:
        if found is not None and (path / ".git").exists():
            raise SystemExit(f"{path}: {found.stderr.strip()}")
        return None, f"{path} is no repository"
    if not named and Path(found.stdout.strip()).resolve() != root.resolve():
        return None, f"{path} lies inside another repository"
    return path, ""


def _carried(root: Path, name: str) -> tuple[str | None, dict[str, str], list[str]]:
    """(sourceCommit, path -> blob id recomputed from the carried bytes, problems)."""
    document = json.loads((root / "protocol" / name).read_bytes())
    oids, problems = {}, []
    for row in document["files"]:
        content = row["content"].encode("utf-8")
        oids[row["path"]] = git_blob_oid(content)
        if hashlib.sha256(content).hexdigest() != row["sha256"] or oids[row["path"]] != row["gitBlobOid"]:
            problems.append(f"{name}: {row['path']} does not have the digests stated for it")
    return document["sourceCommit"], oids, problems


def _compare(repository: Path, name: str, commit: str, oids: dict[str, str]) -> tuple[str, str]:
    """("", problem) or (line, "") for one pinned bundle."""
    shallow = _git(repository, "rev-parse", "--is-shallow-repository").stdout.strip() == "true"
    if _git(repository, "cat-file", "-e", commit + "^{commit}").returncode:
        if shallow:
            return f"{name}: pinned to {commit}, which this shallow clone lacks; not compared", ""
        return "", f"{name}: {repository} cannot resolve its sourceCommit {commit}"
    if _git(repository, "merge-base", "--is-ancestor", commit, "HEAD").returncode:
        if shallow:
            return f"{name}: pinned to {commit}; this shallow clone cannot tell whether it is an ancestor", ""
        return "", f"{name}: its sourceCommit {commit} is no ancestor of HEAD"
    for path, oid in oids.items():
        held = _git(repository, "rev-parse", "--verify", "--quiet", f"{commit}:{path}").stdout.strip()
        if held != oid:
            return "", f"{name}: {path} is {oid}, but commit {commit} holds {held or 'no such file'}"
    return f"{name}: pinned to {commit}", ""


def check_pins(root: Path) -> tuple[list[str], list[str], list[str]]:
    """Lines to print, problems, and the names of unpinned bundles."""
    lines, problems, unpinned = [], [], []
    for name in BUNDLES:
        commit, oids, found = _carried(root, name)
        problems += found
        if commit is None:
            lines.append(f"{name}: unpinned")
            unpinned.append(name)
            continue
        if not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
            problems.append(f"{name}: its sourceCommit is neither null nor a full commit id")
            continue
        repository, why = _repository(root)
        if repository is None:
            lines.append(f"{name}: pinned to {commit}; {why}, so not compared")
            continue
        line, problem = _compare(repository, name, commit, oids)
        lines += [line] if line else []
        problems += [problem] if problem else []
    return lines, problems, unpinned


def pin(root: Path) -> int:
    """Write into each bundle the last commit that changed its files, once that commit holds them as they are."""
    repository, why = _repository(root)
    if repository is None:
        print(f"nothing pinned: {why}", file=sys.stderr)
        return 1
    status = 0
    for name in BUNDLES:
        stored, oids, problems = _carried(root, name)
        commit = _git(repository, "log", "-1", "--format=%H", "--", *oids).stdout.strip()
        problem = problems[0] if problems else f"{name}: no commit holds its files; commit protocol/ first"
        if not problems and commit:
            problem = _compare(repository, name, commit, oids)[1]
        if problems or not commit or problem:
            print(problem, file=sys.stderr)
            status = 1
        elif stored != commit:
            (root / "protocol" / name).write_bytes(bundle(root / "protocol", name, commit))
            print(f"{name}: pinned to {commit}")
    return status
