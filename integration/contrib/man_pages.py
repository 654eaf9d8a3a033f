#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The man pages and the completion know every word that the programs and the policy have: a word
that is new to the code fails here until it is described."""

import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from relay_lab import case, main  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PAGES = ["anchorhold.8", "anchorhold-hook.8", "anchorhold-relay.1", "anchorhold-policy.json.5"]


def read(path):
    with open(f"{ROOT}/{path}", encoding="utf-8") as file:
        return file.read()


def words_of(page):
    """Those set in bold: what is typed as it stands."""
    text = read(f"contrib/man/{page}.scd")
    return {word for bold in re.findall(r"\*([^*\n]+)\*", text) for word in bold.split()}


def complain_unless_all(wanted, page):
    wanted = set(wanted)
    assert wanted, "the code was not found any more"
    assert wanted <= words_of(page), wanted - words_of(page)


def say(program, *words):
    answer = subprocess.run(
        [os.environ[program], *words],
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return answer.stdout + answer.stderr


for name in PAGES:

    @case(f"{name} is typeset without a warning")
    def _(directory, page=name):
        path = f"{directory}/{page}"
        with open(f"{ROOT}/contrib/man/{page}.scd", "rb") as source, open(path, "wb") as made:
            subprocess.run(["scdoc"], stdin=source, stdout=made, check=True)
        done = subprocess.run(
            ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", path],
            env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=True,
        )
        assert done.stderr == b"", done.stderr.decode()


# ---- the programs -------------------------------------------------------------------------------

TOOLS = re.findall(r'Tool\{\s*"(\w+)"', read("shim/tools/tools.cpp"))
OWN_OPTIONS = [
    f"--ah-{name}"
    for name in re.findall(
        r'^    \{"(\w+)", "\w*",', read("shim/words/command_line.cpp"), re.MULTILINE
    )
]


@case("anchorhold(8) has every command, as its usage has it")
def _(_):
    text = re.sub(r"[*_]", "", read("contrib/man/anchorhold.8.scd"))
    for tool in TOOLS:
        usage = re.search(r"usage: (.*) \(", say("AH_SHIM", tool, "--frob")).group(1)
        assert f"{usage}\n" in text.replace("++\n", "\n"), usage
    complain_unless_all(TOOLS, "anchorhold.8")


@case("anchorhold(8) has every option of its own, every annotation and every word of an error")
def _(_):
    complain_unless_all(OWN_OPTIONS, "anchorhold.8")
    annotations = re.findall(r'word == "(\w+)"', read("schema/request.cpp"))
    complain_unless_all([f"dev.anchorhold.{word}" for word in annotations], "anchorhold.8")
    codes = re.findall(r'case Code::\w+: return "(\w+)"', read("schema/error.cpp"))
    complain_unless_all(codes, "anchorhold.8")


@case("anchorhold-hook(8) has every verb of its usage")
def _(_):
    usage = say("AH_HOOK").removeprefix("usage: anchorhold-hook").split(",")
    verbs = re.findall(r"\b[a-z]{2,}\b", " ".join(usage))
    complain_unless_all(set(verbs) - {"or", "anchorhold", "hook", "state"}, "anchorhold-hook.8")


@case("anchorhold-relay(1) has every option")
def _(_):
    options = re.findall(r'"(--[a-z-]+)"', read("relay/options.cpp"))
    complain_unless_all(options, "anchorhold-relay.1")


# ---- the policy ---------------------------------------------------------------------------------


def members(schema):
    """Names of properties, and the words that a text may be."""
    if isinstance(schema, list):
        return [word for one in schema for word in members(one)]
    if not isinstance(schema, dict):
        return []
    found = list(schema["properties"]) if isinstance(schema.get("properties"), dict) else []
    found += [word for word in schema.get("enum", []) if isinstance(word, str)]
    return found + members(list(schema.values()))


@case("anchorhold-policy.json(5) has every member and every word of the schema")
def _(_):
    schema = json.loads(read("schema/policy.schema.json"))
    words = members(schema)
    assert {"profiles", "on_broker_lost", "endPort", "allowlist"} <= set(words), words
    complain_unless_all(words, "anchorhold-policy.json.5")


# ---- README -------------------------------------------------------------------------------------


@case("README lists every command and posture")
def _(_):
    text = read("README.md")
    assert re.findall(r"^    anchorhold (\w+)", text, re.MULTILINE) == TOOLS
    words = read("schema/posture.cpp").split("word_for(Posture posture)\n")[1].split("\n}\n")[0]
    postures = re.findall(r'case Posture::\w+: return "(\w+)"', words)
    assert len(postures) == 5 and f"tight to loose: {', '.join(postures)}." in text, postures


# ---- completion ---------------------------------------------------------------------------------


def complete(*words, program="anchorhold"):
    script = (
        'source "$1" && shift && COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) && '
        '_anchorhold "$1" "${@: -1}" "${@: -2:1}" && printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script, "bash", f"{ROOT}/contrib/bash-completion/anchorhold", program]
        + list(words),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stderr == "", done.stderr
    return done.stdout.split()


@case("anchorhold TAB offers every command and option")
def _(_):
    offered = complete("")
    assert set(TOOLS) | set(OWN_OPTIONS) < set(offered), offered
    assert {"create", "run", "exec", "delete", "state"} < set(offered)


@case("a profile is finished by what the policy has")
def _(directory):
    policy = f"{directory}/policy.json"
    with open(policy, "w", encoding="utf-8") as file:
        json.dump({"profiles": {"agent": {}, "agree": {}, "ci": {}}}, file)
    program = f"{directory}/anchorhold"
    with open(program, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nexec {os.environ["AH_SHIM"]} --ah-policy {policy} "$@"\n')
    os.chmod(program, 0o755)
    assert complete("--ah-profile", "ag", program=program) == ["agent", "agree"]
    assert complete("setup", "--profile", "", program=program) == ["agent", "agree", "ci", "off"]


@case("what begins a word is finished")
def _(_):
    assert sorted(complete("de")) == ["delete", "denials"]
    assert complete("runs", "--h") == ["--help"]
    assert complete("--ah-po") == ["--ah-policy"]
    assert complete("--ah-profile", "agent", "do") == ["doctor"]
    assert complete("import", "--from", "s") == ["srt"]
    assert complete("import", "--") == ["--from", "--help"]
    assert complete("verify", "cont") == ["containerd"]
    assert complete("policy", "") == ["check", "--help"]
    assert complete("setup", "--w") == ["--write"]
    assert complete("gc", "") == ["--dry-run", "--help"]
    assert complete("runs", "--") == ["--ended", "--all", "--json", "--help"]


@case("directories and files where those belong")
def _(directory):
    os.mkdir(f"{directory}/bundle")
    with open(f"{directory}/policy.json", "w", encoding="utf-8"):
        pass
    assert complete("explain", "--bundle", f"{directory}/") == [f"{directory}/bundle"]
    assert f"{directory}/policy.json" in complete("--ah-policy", f"{directory}/p")


@case("show and denials offer the live runs")
def _(directory):
    program = f"{directory}/anchorhold"
    with open(program, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n[ $1 = runs ] && printf 'ID STATE\\nweb-1 x\\nweb-2 x\\n'\n")
    os.chmod(program, 0o755)
    assert complete("show", "we", program=program) == ["web-1", "web-2"]
    assert complete("denials", "", program=program) == ["--json", "--help", "web-1", "web-2"]


# ---- installed ----------------------------------------------------------------------------------


@case("meson installs them where man and bash look")
def _(_):
    said = subprocess.run(
        ["meson", "introspect", "--installed", os.environ["AH_BUILD"]],
        capture_output=True,
        check=True,
    ).stdout
    places = list(json.loads(said).values())
    completion = "/bash-completion/completions/anchorhold"
    for end in [completion] + [f"/man{page[-1]}/{page}" for page in PAGES]:
        assert any(place.endswith(end) for place in places), end


if __name__ == "__main__":
    main()
