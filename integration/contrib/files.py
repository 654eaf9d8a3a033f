#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What contrib/ hands out to be copied can be read by whoever it is for: every file parses, files
that go together name the same things, and the shim takes every policy. And what CASES.md and
BYPASS.md say of the tests is so."""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from relay_lab import case, main  # noqa: E402

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
CONTRIB = os.path.join(ROOT, "contrib")
SHIM = os.environ.get("AH_SHIM", "")
HANDLERS = ["anchorhold", "anchorhold-agent", "anchorhold-ci"]
PROFILES = ["agent", "ci"]


def under(path):
    return os.path.join(CONTRIB, path)


def files(suffix):
    found = glob.glob(f"{CONTRIB}/**/*{suffix}", recursive=True)
    return sorted(os.path.relpath(path, CONTRIB) for path in found)


def parse(path):
    if path.endswith(".json"):
        with open(under(path), encoding="utf-8") as file:
            return json.load(file)
    if path.endswith(".yaml"):
        with open(under(path), encoding="utf-8") as file:
            return list(yaml.safe_load_all(file))
    with open(under(path), "rb") as file:
        return tomllib.load(file)


POLICIES = [
    path
    for path in files(".json")
    if os.path.basename(path).startswith("policy") or path.startswith("policies/")
]
TOML = files(".toml") + [
    "crio/anchorhold.conf",
    "podman/anchorhold.conf",
    "podman/anchorhold-hook.conf",
]

for document in files(".json") + files(".yaml") + TOML:

    @case(f"{document} can be read")
    def _(_, path=document):
        assert parse(path)


# ---- policies -----------------------------------------------------------------------------------


def ask(policy, *words):
    """Runs `check`, which reads the policy whole and asks nobody about an address."""
    return subprocess.run(
        [SHIM, "--ah-policy", policy, *words, "check", "192.0.2.1"],
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        check=False,
    )


for document in POLICIES:

    @case(f"the shim takes {document}, and each profile in it")
    def _(directory, path=document):
        policy = parse(path)
        copy = f"{directory}/policy.json"
        shutil.copy(under(path), copy)  # root's, whoever owns the sources
        for profile in policy["profiles"]:
            said = ask(copy, "--ah-profile", profile)
            # Names of allow lists have no address in here, which is no fault of the policy.
            assert "(invalid_" not in said.stderr, said.stderr
            if policy["profiles"][profile].get("egress", "off") == "off":
                assert "Network: off — confined" in said.stdout, said.stdout


def check_policy(policy, *files):
    return subprocess.run(
        [SHIM, "--ah-policy", policy, "policy", "check", *files],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def fenced(path):
    """The blocks between lines of ``` in a text."""
    with open(under(path), encoding="utf-8") as file:
        return re.findall(r"^```\w*\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)


@case("README's policy can be pasted, and the shim takes it")
def _(directory):
    (policy,) = re.findall(r"<<'JSON'\n(.*?)^JSON$", fenced("../README.md")[0], re.M | re.S)
    with open(f"{directory}/policy.json", "w", encoding="utf-8") as file:
        file.write(policy)
    said = ask(f"{directory}/policy.json")
    assert "refused: 192.0.2.1" in said.stdout, said


@case("the manual's policy as well")
def _(directory):
    (policy,) = fenced("man/anchorhold-policy.json.5.scd")
    with open(f"{directory}/policy.json", "w", encoding="utf-8") as file:
        file.write(policy)
    said = ask(f"{directory}/policy.json")
    assert "refused: 192.0.2.1" in said.stdout, said


@case("the shim would not take just anything")
def _(directory):
    with open(f"{directory}/policy.json", "w", encoding="utf-8") as file:
        json.dump({"profiles": {"agent": {"egress": "on"}}}, file)
    assert "(invalid_policy)" in ask(f"{directory}/policy.json").stderr


# ---- engines ------------------------------------------------------------------------------------


def check_containerd(path, plugin, others=()):
    runtimes = parse(path)["plugins"][plugin]["containerd"]["runtimes"]
    assert sorted(runtimes) == sorted([*HANDLERS, *others]), runtimes
    for name in HANDLERS:
        assert runtimes[name] == {
            "runtime_type": "io.containerd.runc.v2",
            "pod_annotations": ["dev.anchorhold.*"],
            "container_annotations": ["dev.anchorhold.*"],
            "options": {"BinaryName": f"/usr/local/bin/{name}"},
        }, runtimes[name]


@case("containerd has a handler per profile, by the name of a link, with the globs")
def _(_):
    check_containerd("containerd/version-2.toml", "io.containerd.grpc.v1.cri", ["runc"])
    check_containerd("containerd/version-3.toml", "io.containerd.cri.v1.runtime", ["runc"])
    assert [parse(f"containerd/version-{number}.toml")["version"] for number in (2, 3)] == [2, 3]


@case("CRI-O has the same handlers, and no word that it would not start with")
def _(_):
    runtimes = parse("crio/anchorhold.conf")["crio"]["runtime"]["runtimes"]
    assert runtimes == {
        name: {"runtime_path": f"/usr/local/bin/{name}", "runtime_type": "oci"}
        for name in HANDLERS
    }, runtimes


@case("the presets and the agents' recipes go together as drop-ins")
def _(directory):
    os.mkdir(f"{directory}/policy.d")
    wanted = {"off"}
    for path in [path for path in POLICIES if path.startswith(("policies/", "agents/"))]:
        shutil.copy(under(path), f"{directory}/policy.d/{path.replace('/', '-')}")
        wanted |= set(parse(path)["profiles"])
    with open(f"{directory}/policy.json", "w", encoding="utf-8") as file:
        file.write("{}")
    said = check_policy(f"{directory}/policy.json")
    assert said.returncode == 0, said.stdout
    assert said.stdout.split("profiles: ")[1].strip().split(", ") == sorted(wanted), said.stdout


@case("policy check has a line for each fault, with the files that own a profile")
def _(directory):
    os.mkdir(f"{directory}/policy.d")
    policy, drop_ins = f"{directory}/policy.json", f"{directory}/policy.d"
    one, two = f"{drop_ins}/a.json", f"{drop_ins}/b.json"
    for path, text in ((policy, '{"ceilling": "off"}'), (one, '{"profiles": {"ci": {}}}')):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    shutil.copy(one, two)
    said = check_policy(policy)
    assert said.returncode == 1 and said.stdout.splitlines() == [
        f'policy {policy}: the document: unknown member "ceilling"; '
        "anchorhold-policy.json(5) says what may stand there",
        f"policy {two}: profiles.ci: is in {one} as well; leave it in one of the two",
    ], said.stdout
    assert check_policy(policy, one).returncode == 0


@case("podman has the same runtimes, and shows the errors of each")
def _(_):
    engine = parse("podman/anchorhold.conf")["engine"]
    assert engine["runtimes"] == {name: [f"/usr/local/bin/{name}"] for name in HANDLERS}
    assert set(HANDLERS) < set(engine["runtime_supports_json"])


@case("Docker has the same runtimes, by arguments")
def _(_):
    for path in ("docker/daemon.json", "ci/github/daemon.json"):
        settings = parse(path)
        for name, runtime in settings["runtimes"].items():
            words = [f"--ah-profile={name.removeprefix('anchorhold-')}"] if "-" in name else []
            assert runtime["path"] == "/usr/local/bin/anchorhold"
            assert runtime.get("runtimeArgs", []) == words
        assert settings.get("default-runtime", "anchorhold") in settings["runtimes"]
    assert list(parse("docker/daemon.json")["runtimes"]) == HANDLERS


# ---- Kubernetes and CI --------------------------------------------------------------------------


def manifests(kind, folder="kubernetes"):
    found = [one for path in files(".yaml") if path.startswith(folder) for one in parse(path)]
    return [one for one in found if one.get("kind") == kind]


@case("Kubernetes has a class per handler, and lets only those in")
def _(_):
    classes = manifests("RuntimeClass")
    assert [one["handler"] for one in classes] == HANDLERS
    assert [one["metadata"]["name"] for one in classes] == HANDLERS
    (policy,) = manifests("ValidatingAdmissionPolicy")
    (binding,) = manifests("ValidatingAdmissionPolicyBinding")
    (rule,) = policy["spec"]["validations"]
    listed = rule["expression"].split("[")[1].split("]")[0]
    assert [word.strip(" '") for word in listed.split(",")] == HANDLERS
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]
    assert policy["spec"]["failurePolicy"] == "Fail"


@case("each handler of a node has a profile for pods")
def _(_):
    policy = parse("kubernetes/policy.json")
    for name in [policy["default"], *PROFILES]:
        assert policy["profiles"][name]["cri"] is True, name


@case("the node's installer and its way back run where the classes lead")
def _(_):
    (where,) = {str(one["scheduling"]["nodeSelector"]) for one in manifests("RuntimeClass")}
    verbs = []
    for one in manifests("DaemonSet"):
        pod = one["spec"]["template"]["spec"]
        assert str(pod["nodeSelector"]) == where
        (step,) = pod["initContainers"]
        verbs.append(step["command"][-1])
        mounts = {mount["mountPath"]: mount["name"] for mount in step["volumeMounts"]}
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        root = step["command"][step["command"].index("--root") + 1]
        assert volumes[mounts[root]]["hostPath"]["path"] == "/"
        labels = one["spec"]["template"]["metadata"]["labels"]
        assert one["spec"]["selector"]["matchLabels"] == labels
        assert pod["priorityClassName"] == "system-node-critical"
        assert all("limits" in each["resources"] for each in [step, *pod["containers"]])
    assert sorted(verbs) == ["install", "uninstall"]


@case("a node is ready when it is verified, in a namespace that lets the installer in")
def _(_):
    (namespace,) = manifests("Namespace")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"
    (installer,) = [one for one in manifests("DaemonSet") if "install" in one["metadata"]["name"].split("-")]
    (tend,) = installer["spec"]["template"]["spec"]["containers"]
    *_, script = tend["command"]
    lines = [line.strip() for line in script.splitlines()]
    ready = tend["readinessProbe"]["exec"]["command"][-1]
    assert lines.index("until install verify; do sleep 30 & wait $!; done") + 1 == lines.index(f"touch {ready}")
    assert any("install gc" in line for line in lines[lines.index(f"touch {ready}"):])


@case("what kustomize gathers is there")
def _(_):
    (kustomization,) = parse("kubernetes/kustomization.yaml")
    (made,) = kustomization["configMapGenerator"]
    for name in kustomization["resources"] + made["files"]:
        assert os.path.exists(under(f"kubernetes/{name}")), name
    (mounted,) = [
        volume["configMap"]["name"]
        for one in manifests("DaemonSet")
        for volume in one["spec"]["template"]["spec"]["volumes"]
        if "configMap" in volume
    ]
    assert mounted == made["name"]


@case("a node's broker serves what the node's policy names, as a uid of its own")
def _(_):
    (one,) = manifests("DaemonSet", "brokers")
    pod = one["spec"]["template"]["spec"]
    (endpoint,) = parse("kubernetes/policy.json")["profiles"]["agent"]["endpoints"]
    socket, work, configuration = pod["volumes"]
    directory = os.path.dirname(endpoint["to"].removeprefix("unix:"))
    assert socket["hostPath"]["path"] == directory
    (first,), (nginx,) = pod["initContainers"], pod["containers"]
    mounts = {mount["name"]: mount["mountPath"] for mount in nginx["volumeMounts"]}
    assert nginx["workingDir"] == mounts["socket"] == directory
    assert f" -p {mounts[work['name']]}/ " in nginx["command"][2]
    assert f" -c {mounts['configuration']}/nginx.conf " in nginx["command"][2]
    uid = pod["securityContext"]["runAsUser"]
    assert uid and "runAsUser" not in nginx["securityContext"]
    assert f"chown {uid}:{uid} {directory} && chmod 0711 {directory}" == first["command"][2]
    (classes,) = {str(one["scheduling"]["nodeSelector"]) for one in manifests("RuntimeClass")}
    assert str(pod["nodeSelector"]) == classes
    (kustomization,) = parse("brokers/kustomization.yaml")
    (made,) = kustomization["configMapGenerator"]
    assert made["name"] == configuration["projected"]["sources"][0]["configMap"]["name"]
    for name in kustomization["resources"] + made["files"]:
        assert os.path.exists(under(f"brokers/{name}")), name


@case("CI runners name runtimes and classes that exist")
def _(_):
    docker, kubernetes = parse("ci/gitlab/config.toml")["runners"]
    (workflow,) = parse("ci/github/workflow.yaml")
    (template,) = parse("ci/github/hook-template.yaml")
    assert docker["docker"]["runtime"] in parse("docker/daemon.json")["runtimes"]
    assert kubernetes["kubernetes"]["runtime_class_name"] in HANDLERS
    assert template["spec"]["runtimeClassName"] in HANDLERS
    (job,) = workflow["jobs"].values()
    assert job["container"]["options"].split()[-1] in HANDLERS


# ---- agents -------------------------------------------------------------------------------------


@case("each agent's recipe copies what is there, and its port is its profile's")
def _(_):
    agents = [os.path.basename(os.path.dirname(path)) for path in files("/Containerfile")]
    agents.remove("kubernetes")
    assert agents == ["claude-code", "codex", "gemini-cli", "opencode"]
    for agent in agents:
        (profile,) = parse(f"agents/{agent}/policy.json")["profiles"].items()
        assert profile[0] == agent
        (endpoint,) = profile[1]["endpoints"]
        text = json.dumps(profile[1].get("env", {}))
        with open(under(f"agents/{agent}/Containerfile"), encoding="utf-8") as file:
            copies = [line.split()[-2] for line in file if line.startswith("COPY")]
        for name in copies:
            with open(under(f"agents/{agent}/{name}"), encoding="utf-8") as file:
                text += file.read()
        assert f"http://127.0.0.1:{endpoint['listen']}" in text, agent


@case("Codex and Gemini CLI are told by a file what the environment does not tell them")
def _(_):
    codex = parse("agents/codex/config.toml")
    provider = codex["model_providers"][codex["model_provider"]]
    (profile,) = parse("agents/codex/policy.json")["profiles"].values()
    assert provider["wire_api"] == "responses" and provider["env_key"] in profile["env"]
    assert codex["analytics"]["enabled"] is False and codex["features"]["plugins"] is False
    gemini = parse("agents/gemini-cli/settings.json")
    assert gemini["security"]["auth"]["selectedType"] == "gemini-api-key"
    assert gemini["privacy"]["usageStatisticsEnabled"] is False


# ---- systemd ------------------------------------------------------------------------------------


@case("tmpfiles.d makes directories that are root's and that others only pass through")
def _(_):
    with open(under("systemd/anchorhold.tmpfiles.conf"), encoding="utf-8") as file:
        lines = [line.split() for line in file if not line.startswith("#")]
    assert [line[1] for line in lines] == ["/run/anchorhold", "/run/brokers"]
    for line in lines:
        assert line[:1] + line[2:] == ["d", "0711", "root", "root", "-"], line


@case("a gate that gc starts again outlives gc's unit")
def _(_):
    with open(under("systemd/anchorhold-gc.service"), encoding="utf-8") as file:
        assert "KillMode=process\n" in file.readlines()


# ---- the lists of cases -------------------------------------------------------------------------

TAG = re.compile(r"\b[BC]-\d\d\b")


def read(path):
    with open(f"{ROOT}/{path}", encoding="utf-8") as file:
        return file.read()


def test_texts():
    """Each test's text, by what the lists call it: FOLDER/NAME, or the path of a unit test."""
    texts = {}
    for path in glob.glob(f"{ROOT}/integration/*/*.sh") + glob.glob(f"{ROOT}/integration/*/*.py"):
        name = os.path.relpath(path, f"{ROOT}/integration").rsplit(".", 1)[0]
        texts[name] = texts.get(name, "") + read(os.path.relpath(path, ROOT))
    for path in glob.glob(f"{ROOT}/tests/**/*_test.cpp", recursive=True):
        texts[os.path.relpath(path, ROOT)] = read(os.path.relpath(path, ROOT))
    with_cases = ("lib/hooks_network", "lib/ways")
    return {
        name: text + "".join(texts[lib] for lib in with_cases if f"/{lib}.sh" in text)
        for name, text in texts.items()
    }


def listed():
    """The tests that show it, by tag."""
    rows = {}
    for path in ("integration/CASES.md", "integration/BYPASS.md"):
        for line in read(path).splitlines():
            if TAG.match(line[2:6]):
                tag, _, tests = line.strip("| ").split(" | ")
                assert tag not in rows, f"{tag} stands twice"
                rows[tag] = re.findall(r"`([^`]+)`", tests)
    return rows


@case("every number in a test's names is in the lists of cases")
def _(_):
    used = {tag for text in test_texts().values() for tag in TAG.findall(text)}
    assert len(used) > 100, used
    assert used <= set(listed()), used - set(listed())


@case("every test that the lists of cases name is there, and has the number")
def _(_):
    texts = test_texts()
    for tag, tests in listed().items():
        assert tests, f"{tag} is shown by nothing"
        for test in tests:
            assert tag in texts.get(test, ""), f"{tag}: {test}"


if __name__ == "__main__":
    main()
