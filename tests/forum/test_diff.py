"""Git on a repository that nobody trusts: nothing it names is run, nothing outside the project or secret is shown. Duty: the council surface, "Files, git, search"."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from rulith.base.errors import Refused
from rulith.forum import diff
from rulith.forum.diff import DIFF_BYTES_MAX, without_credentials
from rulith.forum.files import ProjectFolder

pytestmark = [pytest.mark.skipif(shutil.which("git") is None, reason="needs git"),
              pytest.mark.skipif(sys.platform == "win32", reason="the hostile programs are shell scripts")]


def git(folder, *arguments: str) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
           "GIT_COMMITTER_EMAIL": "a@b"}
    return subprocess.run(["git", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", *arguments], cwd=folder, env=env, check=True, capture_output=True,
                          text=True, timeout=60).stdout.strip()


def put(root, path: str, content: str) -> None:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(content)


@pytest.fixture
def repo(tmp_path):
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q")
    put(root, "a.txt", "one\ntwo\n"), put(root, "sub/b.txt", "sub one\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    return root


@pytest.fixture
def trap(tmp_path):
    """A program that leaves a trace when it is run; (its path, whether it was)."""
    script, trace = tmp_path / "trap.sh", tmp_path / "trace"
    script.write_text(f"#!/bin/sh\necho run >> {trace}\ncat\n")
    script.chmod(0o755)
    return str(script), trace.exists


def code(folder, base=None, path=None) -> str:
    with pytest.raises(Refused) as caught:
        ProjectFolder(str(folder)).diff(base, path)
    return caught.value.code


def told(folder, base=None, path=None) -> str:
    return ProjectFolder(str(folder)).diff(base, path)


def test_a_diff_tells_its_stat_and_its_body_against_the_index_or_a_commit(repo):
    assert told(repo) == ""
    put(repo, "a.txt", "one\ntwo\nthree\n")
    text = told(repo)
    assert "a.txt | 1 +" in text and "\n+three\n" in text and text.index("1 file changed") < text.index("diff --git a/a.txt b/a.txt") and "\x1b" not in text
    git(repo, "commit", "-qam", "second")
    assert told(repo) == "" and "+three" in told(repo, "HEAD~1") and "+three" in told(repo, "HEAD~1..HEAD") and "+three" in told(repo, "HEAD^...")
    assert "a.txt" not in told(repo, "HEAD~1", "sub") and "+three" in told(repo, "HEAD^", "a.txt") and "+three" in told(repo, "@{0}~1", str(repo / "a.txt"))


@pytest.mark.parametrize("base", ["", "-p", "--output=x", "a b", "HEAD:.env", "x" * 201, "HEAD\0", "HEAD\n", "$(id)", "nowhere", ".env", "a.txt", "HEAD^{tree}", "..-x", "HEAD..nowhere", "@{-1}",
                                  "HEAD...x...y", "refs/../../x"])
def test_a_base_that_is_no_commit_is_refused(repo, base):
    put(repo, ".env", "KEY=SECRET\n"), put(repo, "a.txt", "changed\n")
    assert code(repo, base) == "council_invalid" and not (repo / "x").exists()


def test_an_object_that_is_no_commit_cannot_be_asked_for_by_its_number(repo):
    put(repo, ".env", "KEY=SECRET\n")
    git(repo, "add", "-f", ".env")
    git(repo, "commit", "-qm", "secret")
    blob, tree = git(repo, "rev-parse", "HEAD:.env"), git(repo, "rev-parse", "HEAD^{tree}")
    assert {code(repo, base, "a.txt") for base in (blob, blob[:8], tree)} == {"council_invalid"}


def test_refused_names_are_left_out_in_any_case_and_at_any_depth(repo):
    hidden = [".env", "deep/.ENV.local", "k/server.PEM", "ID_RSA", "deep/er/credentials", "node_modules/x/i.js", "deep/Build/o.txt", "Target/y", "deep/.npmrc"]
    for path in [*hidden, "ok/environment.py"]:
        put(repo, path, "SECRET before\n")
    git(repo, "add", "-fA")
    git(repo, "commit", "-qm", "all")
    for path in [*hidden, "ok/environment.py"]:
        put(repo, path, "SECRET after\n")
    for base in (None, "HEAD~1"):
        text = told(repo, base)
        assert text.count("+SECRET") == 1 and "ok/environment.py" in text and not [path for path in hidden if path in text]
    for path in hidden:
        assert code(repo, None, path) == "council_path"
    for path in ("deep", "k"):
        assert told(repo, None, path) == ""


def test_a_project_in_a_part_of_a_repository_shows_its_own_part_only(repo):
    put(repo, "a.txt", "outer change\n"), put(repo, "sub/b.txt", "inner change\n")
    text = told(repo / "sub")
    assert "inner change" in text and "outer" not in text and "a/b.txt b/b.txt" in text
    for path in ("../a.txt", str(repo / "a.txt"), ":/", ":(top)a.txt", ":!b.txt", "*"):
        try:
            assert "outer" not in told(repo / "sub", None, path)
        except Refused as refusal:
            assert refusal.code == "council_path"


@pytest.mark.parametrize("settings", [
    ("core.fsmonitor", "{trap}"), ("diff.external", "{trap}"), ("core.pager", "{trap}"), ("pager.diff", "{trap}"), ("core.hooksPath", "."),
    ("diff.odd.command", "{trap}"), ("diff.odd.textconv", "{trap}"), ("filter.odd.clean", "{trap}"), ("filter.odd.process", "{trap}"), ("filter.o=d.clean", "{trap}"),
    ("filter.O.d\u00e9.smudge.clean", "{trap}"), ("core.sshCommand", "{trap}"), ("alias.diff", "!{trap}"), ("core.editor", "{trap}"), ("core.askPass", "{trap}"),
])
def test_nothing_that_the_settings_of_a_repository_name_is_run(repo, trap, settings):
    script, was_run = trap
    name, value = settings
    git(repo, "config", name, value.replace("{trap}", script))
    if name.startswith("filter."):
        git(repo, "config", name.rpartition(".")[0] + ".required", "true")
    driver = name.partition(".")[2].rpartition(".")[0]
    put(repo, ".gitattributes", f"*.txt diff={driver or 'odd'} filter={driver or 'odd'}\n")
    for hook in ("post-index-change", "post-checkout", "fsmonitor-watchman"):
        shutil.copy(script, repo / ".git" / "hooks" / hook), shutil.copy(script, repo / hook)
    put(repo, "a.txt", "changed\n")
    os.utime(repo / "sub" / "b.txt", (1, 1))
    assert "+changed" in told(repo) and "+changed" in told(repo, "HEAD")
    head, dirty = ProjectFolder(str(repo)).state()
    assert head == git(repo, "rev-parse", "HEAD") and dirty and not was_run()


def test_the_trap_of_these_tests_does_catch(repo, trap):
    """Without what this module sets, git does run it."""
    script, was_run = trap
    git(repo, "config", "filter.odd.clean", script)
    put(repo, ".gitattributes", "*.txt filter=odd\n"), put(repo, "a.txt", "changed\n")
    git(repo, "diff")
    assert was_run()


def test_settings_in_a_file_that_is_included_are_no_way_around(repo, trap):
    script, was_run = trap
    put(repo, "more.cfg", f'[filter "late"]\n\tclean = {script}\n[core]\n\tfsmonitor = {script}\n')
    git(repo, "config", "include.path", "../more.cfg")
    put(repo, ".gitattributes", "* filter=late\n"), put(repo, "a.txt", "changed\n")
    assert "+changed" in told(repo) and not was_run()


def test_what_a_partial_clone_lacks_is_not_fetched(repo, trap, tmp_path):
    script, was_run = trap
    blob = git(repo, "rev-parse", "HEAD:a.txt")
    for name, value in (("core.repositoryFormatVersion", "1"), ("extensions.partialClone", "origin"), ("remote.origin.url", str(tmp_path / "elsewhere")),
                        ("remote.origin.promisor", "true"), ("remote.origin.uploadpack", script), ("protocol.allow", "always")):
        git(repo, "config", name, value)
    shutil.copytree(repo, tmp_path / "elsewhere")
    (repo / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    put(repo, "a.txt", "changed\n")
    assert code(repo) == "council_no_git" and not was_run()
    git(repo, "config", "remote.origin.url", f"ext::{script}")
    assert code(repo) == "council_no_git" and not was_run()


def test_variables_of_the_caller_do_not_reach_git(repo, trap, monkeypatch):
    script, was_run = trap
    for name, value in (("GIT_EXTERNAL_DIFF", script), ("GIT_PAGER", script), ("GIT_DIR", "/nowhere"), ("GIT_WORK_TREE", "/"), ("GIT_CONFIG_PARAMETERS", f"'core.fsmonitor={script}'"),
                        ("GIT_TRACE", str(repo / "traced"))):
        monkeypatch.setenv(name, value)
    put(repo, "a.txt", "changed\n")
    assert "+changed" in told(repo) and not was_run() and not (repo / "traced").exists()


def test_a_submodule_is_told_by_its_commit_and_its_settings_run_nothing(repo, trap, tmp_path):
    script, was_run = trap
    shutil.copytree(repo, tmp_path / "inner")
    git(repo, "submodule", "-q", "add", str(tmp_path / "inner"), "inner")
    git(repo, "commit", "-qm", "inner")
    inner = repo / "inner"
    git(inner, "config", "core.fsmonitor", script)
    git(inner, "config", "filter.odd.clean", script)
    put(inner, ".gitattributes", "* filter=odd\n"), put(inner, "a.txt", "changed inside\n")
    for name in ("diff.submodule", "status.submoduleSummary"):
        git(repo, "config", name, "diff" if name.startswith("diff") else "true")
    assert told(repo) == "" and ProjectFolder(str(repo)).state()[1] is False and not was_run()
    assert "+changed inside" in told(inner) and not was_run()


def test_a_linked_working_tree_is_a_repository_of_its_own(repo, tmp_path):
    git(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    put(tmp_path / "side", "a.txt", "aside\n")
    assert "+aside" in told(tmp_path / "side")


def test_a_repository_that_shows_another_place_is_none(repo, tmp_path):
    put(repo, "private.txt", "PRIVATE\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "private")
    for make in ("file", "link", "tree", "common"):
        evil = tmp_path / f"evil-{make}"
        evil.mkdir()
        if make == "file":
            put(evil, ".git", f"gitdir: {repo / '.git'}\n")
        elif make == "link":
            (evil / ".git").symlink_to(repo / ".git")
        else:
            git(evil, "init", "-q")
            if make == "tree":
                git(evil, "config", "core.worktree", str(repo))
            else:
                put(evil, ".git/commondir", f"{repo / '.git'}\n")
        assert code(evil) == "council_no_git", make
        assert ProjectFolder(str(evil)).state() == (None, False)


def test_a_folder_without_a_repository_or_a_machine_without_git_says_so(tmp_path, monkeypatch):
    assert code(tmp_path) == "council_no_git" and ProjectFolder(str(tmp_path)).state() == (None, False) and ProjectFolder(str(tmp_path)).remote() is None
    monkeypatch.setattr(diff.shutil, "which", lambda name: None)
    assert code(tmp_path) == "council_no_git"


def test_a_broken_repository_and_one_without_a_commit(repo, tmp_path):
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    git(fresh, "init", "-q")
    assert told(fresh) == "" and code(fresh, "HEAD") == "council_invalid" and ProjectFolder(str(fresh)).state() == (None, False)
    put(repo, ".git/config", "[core\nbroken")
    assert code(repo) == "council_no_git" and ProjectFolder(str(repo)).state() == (None, False)
    assert ProjectFolder(str(fresh)).status() == {"is_repo": True, "branch": "main", "head": None, "dirty": False}
    put(fresh, "new.txt", "")
    assert ProjectFolder(str(fresh)).state() == (None, True)


def test_names_and_content_that_are_odd_stay_where_they_belong(repo):
    names = ["a file.txt", "-p", "--output=stolen", "q\"uote.txt", "new\nline.txt", "caf\u00e9.txt", ":(top)x", "a*b"]
    for name in names:
        put(repo, name, "before\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "odd")
    for name in names:
        put(repo, name, f"after {name!r}\n")
    assert told(repo).count("+after") == len(names) and not (repo / "stolen").exists()
    for name in names:
        assert told(repo, None, name).count("+after") == 1, name
    (repo / "a.txt").write_bytes(b"x\0y\xff")
    put(repo, ".gitattributes", "*.txt diff\n")
    assert "\0" not in told(repo, None, "a.txt")


@pytest.mark.parametrize("letter", ["a", "\u00e9", "\u20ac", "\U0001f600"])
def test_a_long_diff_is_cut_between_two_letters_and_says_so(repo, letter):
    put(repo, "long.txt", "".join(letter * 50 + "\n" for _ in range(DIFF_BYTES_MAX // 50)))
    git(repo, "add", "-N", "long.txt")
    text = told(repo)
    body, _, hint = text.rpartition("\n[cut after ")
    assert "name a path" in hint and DIFF_BYTES_MAX - 4 < len(body.encode()) <= DIFF_BYTES_MAX and "\ufffd" not in body


def test_a_git_that_never_ends_is_ended(repo, tmp_path, monkeypatch):
    slow = tmp_path / "bin"
    slow.mkdir()
    put(slow, "git", "#!/bin/sh\nsleep 600 &\nexec sleep 600\n")
    (slow / "git").chmod(0o755)
    monkeypatch.setattr(diff.shutil, "which", lambda name: str(slow / "git"))
    monkeypatch.setattr(diff, "GIT_S", 0.3)
    assert code(repo) == "council_no_git"


def test_a_look_writes_no_index_and_a_lock_of_somebody_else_is_no_matter(repo):
    os.utime(repo / "a.txt", (1, 1))
    before, folder = (repo / ".git" / "index").read_bytes(), ProjectFolder(str(repo))
    assert folder.state()[1] is False and (repo / ".git" / "index").read_bytes() == before
    put(repo, ".git/index.lock", "")
    assert folder.diff(None, None) == "" and folder.state()[1] is False and (repo / ".git" / "index").read_bytes() == before


@pytest.mark.parametrize(("url", "kept"), [("https://me:token@host/x.git", "https://host/x.git"), ("https://token@host/x", "https://host/x"), ("ssh://git:pw@host/x", "ssh://git@host/x"),
                                           ("git@host:x.git", "git@host:x.git"), ("/a/b", "/a/b"), ("https://h/x\x1b[0m", ""), ("https://[", ""), ("x" * 2_000, "")])
def test_the_address_of_a_repository_is_told_without_its_credentials(repo, url, kept):
    assert without_credentials(url) == kept


def test_the_remote_of_a_project_is_its_origin(repo):
    git(repo, "config", "remote.origin.url", "https://me:token@host/x.git")
    assert ProjectFolder(str(repo)).remote() == "https://host/x.git"


@pytest.mark.parametrize("way", ["alternates", "relative", "quoted", "chained", "objects", "pack", "info"])
def test_a_repository_that_takes_its_objects_from_another_place_is_none(repo, tmp_path, way):
    """Else whoever guesses the first letters of a commit's number reads another project."""
    evil = tmp_path / "evil"
    evil.mkdir()
    git(evil, "init", "-q")
    put(evil, "own.txt", "own\n")
    git(evil, "add", "-A")
    git(evil, "commit", "-qm", "own")
    put(evil, "own.txt", "changed\n")
    assert "+changed" in told(evil)
    theirs, objects = repo / ".git" / "objects", evil / ".git" / "objects"
    if way in ("alternates", "relative", "quoted", "chained"):
        line = {"alternates": str(theirs), "relative": os.path.relpath(theirs, objects), "quoted": f'"{theirs}"', "chained": f"# ours\n\n{theirs}"}[way]
        put(evil, ".git/objects/info/alternates", line + "\n")
    elif way == "objects":
        shutil.move(objects, tmp_path / "moved")
        shutil.copytree(tmp_path / "moved", theirs, dirs_exist_ok=True)
        objects.symlink_to(theirs)
    elif way == "pack":
        git(repo, "repack", "-adq")
        for file in (theirs / "pack").iterdir():
            (objects / "pack" / file.name).symlink_to(file)
    else:
        shutil.rmtree(objects / "info")
        put(tmp_path, "info/alternates", f"{theirs}\n")
        (objects / "info").symlink_to(tmp_path / "info")
    commit = git(repo, "rev-parse", "HEAD")
    assert code(evil) == "council_no_git" and code(evil, commit) == "council_no_git" and code(evil, commit[:7]) == "council_no_git" and ProjectFolder(str(evil)).state() == (None, False)


def test_objects_that_are_borrowed_within_the_same_tree_are_its_own(repo):
    shutil.copytree(repo / ".git" / "objects", repo / "vendor" / "objects")
    put(repo, ".git/objects/info/alternates", f"{repo / 'vendor' / 'objects'}\n"), put(repo, "a.txt", "changed\n")
    assert "+changed" in told(repo)


def test_a_file_that_is_far_too_long_is_told_and_not_taken_into_memory(repo, monkeypatch):
    monkeypatch.setattr(diff, "_QUIET", tuple(word.replace(str(diff.BIG_BYTES), str(2**20)) for word in diff._QUIET))
    put(repo, "huge.txt", "before\n" * 160_000)
    git(repo, "config", "core.bigFileThreshold", "1g")
    git(repo, "add", "huge.txt")
    put(repo, "huge.txt", "after\n" + "before\n" * 160_000)
    text = told(repo)
    assert "huge.txt" in text and "Binary files" in text and len(text) < 2_000


def test_settings_that_make_an_answer_long_or_slow_have_no_say(repo):
    put(repo, "long.txt", "".join(f"line {number}\n" for number in range(400)))
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "long")
    put(repo, "long.txt", "".join(f"line {number}\n" if number != 200 else "changed\n" for number in range(400)))
    for name, value in (("diff.context", "1000000"), ("diff.interHunkContext", "1000000"), ("diff.renameLimit", "1000000"), ("diff.noprefix", "true"), ("diff.mnemonicPrefix", "true"), ("color.ui", "always"), ("color.diff", "always"),
                        ("diff.wsErrorHighlight", "all"), ("diff.statGraphWidth", "1"), ("diff.orderFile", "/etc/passwd"), ("diff.relative", "true"), ("core.quotePath", "false"), ("status.showUntrackedFiles", "all"), ("diff.colorMoved", "zebra")):
        git(repo, "config", name, value)
    text = told(repo)
    assert text.count("\n line ") == 6 and "a/long.txt b/long.txt" in text and "\x1b" not in text


def test_pipes_links_and_folders_in_the_place_of_files_hold_nobody_up_and_lead_nowhere(repo, tmp_path):
    put(tmp_path, "outside/b.txt", "OUTSIDE\n"), put(repo, "real/x.txt", "x\n"), put(repo, "l.txt", "l\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "more")
    shutil.rmtree(repo / "sub")
    (repo / "sub").symlink_to(tmp_path / "outside")
    (repo / "l.txt").unlink()
    (repo / "l.txt").symlink_to(tmp_path / "outside" / "b.txt")
    (repo / "real" / "x.txt").unlink()
    (repo / "real" / "x.txt").mkdir()
    text = told(repo)
    assert "OUTSIDE" not in text and "deleted file" in text and "OUTSIDE" not in told(repo, "HEAD~1")
    assert code(repo, None, "sub/b.txt") == "council_path" and ProjectFolder(str(repo)).state()[1] is True
    (repo / "a.txt").unlink()
    os.mkfifo(repo / "a.txt")
    assert code(repo) == "council_no_git"                     # git itself knows no way to tell it, and waits for nobody


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a'b", "$(id)", "caf\u00e9", "--output=x"])
def test_a_branch_of_any_name_is_only_told(repo, name):
    put(repo, ".git/HEAD", f"ref: refs/heads/{name}\n")
    assert ProjectFolder(str(repo)).status() == {"is_repo": True, "branch": name, "head": None, "dirty": True} and not (repo / "x").exists()


def test_a_head_that_is_no_branch_stays_on_its_line(repo):
    put(repo, ".git/HEAD", "ref: refs/heads/a\x1b[31m\u202eb\n")
    told_of = ProjectFolder(str(repo)).status()
    assert (told_of["branch"] or "").isprintable() and told_of["head"] is None
    put(repo, ".git/HEAD", "ref: ../../../../etc/passwd\n")
    assert code(repo, "HEAD") in ("council_no_git", "council_invalid") and ProjectFolder(str(repo)).status()["head"] is None
