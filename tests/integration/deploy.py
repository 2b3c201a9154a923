#!/usr/bin/env python3
"""deploy/: the units pass systemd's own check, the manifests are consistent, and their command lines work: they run as they
are, by a user without rights, each pod with a root of its own that is read-only."""
import atexit
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["HAWSER_SOURCE"], "tests", "helpers"))
from ports import free_port  # noqa: E402
from unit_file import unit_lines  # noqa: E402

HAWSER, SOURCE = os.environ["HAWSER_BINARY"], os.environ["HAWSER_SOURCE"]
USER = 10001
CLEAN = {key: value for key, value in os.environ.items() if not key.startswith("HAWSER_")}  # the command would take them for options
SECONDS = 120
VERSION = subprocess.run([HAWSER, "version"], capture_output=True, text=True, check=True, env=CLEAN).stdout.split()[1]
failures = 0


def hawser(*words):
    subprocess.run([HAWSER, *words], check=True, stdout=subprocess.DEVNULL, env=CLEAN)


def check(condition, text):
    global failures
    if not condition:
        failures += 1
        print("FAILED:", text, file=sys.stderr, flush=True)
    return condition


def until(condition, what):
    end = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > end:
            return check(False, f"no {what}")
        time.sleep(0.05)
    return True


# ---------------------------------------------------------------------------------------------------------- systemd ----

def verify_unit(scratch, path):
    """Returns the findings of systemd's check; the command is looked for at its present path."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    name, lines = os.path.basename(path), unit_lines(path)
    check("/usr/bin/hawser " in text, f"{name} does not start /usr/bin/hawser")
    check("AF_NETLINK" in lines["RestrictAddressFamilies"][0].split(), f"{name}: no AF_NETLINK, by which addresses are looked up")
    check(lines["ExecStartPre"][0].split()[-1].startswith("%t/"), f"{name}: the key's copy is not in memory (%t)")
    check("--port-range" in lines["ExecStart"][0], f"{name}: no fixed ports")
    if not shutil.which("systemd-analyze"):
        print("no systemd-analyze here: the unit was not verified")
        return
    for change, fine in ((None, True), ("Restart=sometimes", False), ("ProtectSystems=strict", False)):
        copy = os.path.join(scratch, name)
        with open(copy, "w", encoding="utf-8") as out:
            changed = re.sub(r"^Restart=.*", change, text, flags=re.M) if change else text
            out.write(changed.replace("/usr/bin/hawser", HAWSER))
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True, check=False)
        objects = done.returncode != 0 or name.split("@")[0].removesuffix(".service") in done.stderr
        check(objects != fine, f"systemd-analyze verify {name}, with {change}: {done.returncode}: {done.stderr}")


def as_systemd(command, stands_for):
    """Returns a command's words with systemd's values for %i, %d, %t and %H."""
    return shlex.split(re.sub(r"%[idtH]|/usr/bin/hawser", lambda found: stands_for[found.group()], command).replace("$$", "$"))


def run_unit(scratch, path):
    """Runs the unit's commands with a manager that ends with the node."""
    lines = {key: values for key, values in unit_lines(path).items() if key.startswith("ExecStart")}
    credentials, runtime = os.path.join(scratch, "credentials"), os.path.join(scratch, "runtime")
    os.mkdir(credentials)
    hawser("key", f"{credentials}/job.key")
    os.chmod(f"{credentials}/job.key", 0o440)
    hawser("data", "generate", "dense", "--rows", "100", "--cols", "20", "-o", f"{scratch}/unit.svm")
    shutil.copy(f"{credentials}/job.key", f"{credentials}/own.key")
    os.chmod(f"{credentials}/own.key", 0o400)
    manager = subprocess.Popen(
        [HAWSER, "train", "lasso", f"{scratch}/unit.svm", "--index-base", "1", "--workers", "2", "-q", "--listen", "2",
         "--key-file", f"{credentials}/own.key", "--interface", "127.0.0.1"], stderr=subprocess.PIPE, text=True, env=CLEAN)
    atexit.register(manager.kill)
    port = re.search(r"tcp:127\.0\.0\.1:(\d+)", manager.stderr.readline()).group(1)
    stands_for = {"%i": f"127.0.0.1:{port}", "%d": credentials, "%H": "ash", "%t": runtime, "/usr/bin/hawser": HAWSER}
    os.makedirs(os.path.join(runtime, unit_lines(path)["RuntimeDirectory"][0].replace("%i", stands_for["%i"])), 0o700)
    for command in lines["ExecStartPre"] + lines["ExecStart"]:
        done = subprocess.run(as_systemd(command, stands_for), capture_output=True, text=True, timeout=SECONDS, check=False, env=CLEAN)
        check(done.returncode == 0, f"{command}: {done.returncode}: {done.stderr}")
    check(manager.wait(SECONDS) == 0, f"the manager of the unit's node: {manager.stderr.read()}")


def run_serve_unit(scratch, path):
    """Runs the servers twice: the second time they begin with the tables that the first run saved."""
    lines, port = unit_lines(path), free_port()
    state, runtime = os.path.join(scratch, "state"), os.path.join(scratch, "serve")
    os.mkdir(state)
    os.makedirs(os.path.join(runtime, lines["RuntimeDirectory"][0]), 0o700)
    hawser("key", f"{scratch}/store.key")
    stands_for = {"%d": scratch, "%t": runtime, "/usr/bin/hawser": HAWSER}
    subprocess.run(as_systemd(lines["ExecStartPre"][0], stands_for), check=True)
    at = ("--at", f"127.0.0.1:{port}", "--key-file", f"{scratch}/store.key", "--join-timeout", str(SECONDS))
    for words, said in ((("put", "w", "3=0.5"), ""), (("get", "w", "3"), "3 0.5\n")):
        command = [word.replace("7000", str(port)) for word in as_systemd(lines["ExecStart"][0], stands_for)]
        with open(os.path.join(scratch, "serve.out"), "w", encoding="utf-8") as out:
            server = subprocess.Popen(command, cwd=state, env=CLEAN, stdout=out, stderr=out)
        atexit.register(server.kill)
        if said == "":
            hawser("store", "make", "w", "--keys", "0..9", *at)
        done = subprocess.run([HAWSER, "store", *words, *at], capture_output=True, text=True, check=False, env=CLEAN)
        check(done.returncode == 0 and done.stdout == said, f"store {words}: {done.returncode}: {done.stdout}{done.stderr}")
        server.send_signal(signal.SIGTERM)
        with open(os.path.join(scratch, "serve.out"), encoding="utf-8") as out:
            check(server.wait(SECONDS) == 0, f"the unit's server: {out.read()}")


def images():
    """An image has the version's tag, and is built from what belongs to the project."""
    with open(os.path.join(SOURCE, "deploy", "Dockerfile"), encoding="utf-8") as file:
        check(f"-t hawser:{VERSION} " in file.readline(), f"the Dockerfile's first line has no tag {VERSION}")
    with open(os.path.join(SOURCE, ".dockerignore"), encoding="utf-8") as file:
        left_out = set(file.read().split("\n"))
    check({".git", "build"} <= left_out, ".dockerignore leaves out neither the history nor builds")


# ------------------------------------------------------------------------------------------------------------- pods ----

def pod_of(document):
    return document["spec"]["template"]["spec"]


def starts_again(job, code):
    """Returns whether Kubernetes makes another pod after this exit code, as its rules say: the first one that fits counts."""
    for rule in job["spec"]["podFailurePolicy"]["rules"]:
        codes = rule.get("onExitCodes")
        if codes and (code in codes["values"]) == (codes["operator"] == "In"):
            return rule["action"] != "FailJob"
    return True


def fit_together(documents):
    """Checks what a schema cannot: names, numbers and ports on which another document relies."""
    kinds = {(d["kind"], d["metadata"]["name"]): d for d in documents}
    driver, nodes = kinds["Job", "hawser-driver"], kinds["StatefulSet", "hawser-node"]
    services = [d for d in documents if d["kind"] == "Service"]
    for service in services:
        wanted = service["spec"]["selector"].items()
        owners = [d for d in (driver, nodes) if wanted <= d["spec"]["template"]["metadata"]["labels"].items()]
        check(len(owners) == 1, f"service {service['metadata']['name']} selects {len(owners)} kinds of pods")
    check(nodes["spec"]["serviceName"] in [s["metadata"]["name"] for s in services], "the nodes' service is not there")
    labels = nodes["spec"]["template"]["metadata"]["labels"]
    check(nodes["spec"]["selector"]["matchLabels"].items() <= labels.items(), "the set's labels")
    listen = dict(word[2:].split("=") for word in pod_of(driver)["containers"][0]["args"] if "=" in word)
    join = dict(word[2:].split("=") for word in pod_of(nodes)["containers"][0]["args"] if "=" in word)
    check(int(listen["listen"]) == nodes["spec"]["replicas"] + 1, "--listen and the number of replicas")
    host, port = join["join"].split(":")
    service = kinds["Service", host]
    check(int(port) == int(listen["port-range"]) == service["spec"]["ports"][0]["port"], "ports")
    for document in (driver, nodes):
        check_pod(document, documents)
    check([code for code in range(1, 256) if starts_again(driver, code)] == [8, 130, 137, 143], "after which exit codes the driver starts again")
    for probe in ("readinessProbe", "livenessProbe"):
        check(any(probe in pod_of(d)["containers"][0] for d in (driver, nodes)), f"nobody has a {probe}")
    return driver, nodes


def fits_store(documents):
    """Like fit_together, for the server's set."""
    kinds = {d["kind"]: d for d in documents}
    store, service = kinds["StatefulSet"], kinds["Service"]
    labels = store["spec"]["template"]["metadata"]["labels"]
    check(service["spec"]["selector"].items() <= labels.items() and store["spec"]["serviceName"] == service["metadata"]["name"], "the store's service")
    check(store["spec"]["selector"]["matchLabels"].items() <= labels.items(), "the store's labels")
    container = pod_of(store)["containers"][0]
    port = service["spec"]["ports"][0]["port"]
    check(f"--port-range={port}" in container["command"][-1] and container["readinessProbe"]["tcpSocket"]["port"] == port, "the store's port")
    check(f"--at=127.0.0.1:{port}" in container["livenessProbe"]["exec"]["command"], "the store's probe")
    check_pod(store, documents)
    return store


def check_pod(document, documents):
    """Checks user, rights, volumes, image and port, that the copy of the key is in memory, and that drains wait."""
    name, pod, labels = document["metadata"]["name"], pod_of(document), document["spec"]["template"]["metadata"]["labels"]
    check(pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] == USER, "user")
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    volumes.update({claim["metadata"]["name"]: claim for claim in document["spec"].get("volumeClaimTemplates", [])})
    for container in pod["initContainers"] + pod["containers"]:
        check({mount["name"] for mount in container["volumeMounts"]} <= set(volumes), f"volumes of {name}")
        check(container["image"] == f"hawser:{VERSION}", f"the image of {name} is {container['image']}, and the version {VERSION}")
        context = container["securityContext"]
        rights = not context["readOnlyRootFilesystem"] or context["allowPrivilegeEscalation"]
        rights = rights or context["capabilities"]["drop"] != ["ALL"]
        check(not rights, f"rights of {name}")
    copy = pod["initContainers"][0]["command"][-1]
    holders = [m["name"] for m in pod["initContainers"][0]["volumeMounts"] if copy.startswith(m["mountPath"] + "/")]
    check([volumes[holder].get("emptyDir", {}).get("medium") for holder in holders] == ["Memory"], f"the key of {name} is not in memory")
    ports = [port["containerPort"] for port in pod["containers"][0]["ports"]]
    check(f"--port-range={ports[0]}" in " ".join(pod["containers"][0].get("args", []) + pod["containers"][0].get("command", [])), f"port of {name}")
    budgets = [d for d in documents if d["kind"] == "PodDisruptionBudget" and d["spec"]["selector"]["matchLabels"].items() <= labels.items()]
    check(len(budgets) == 1, f"{name} has {len(budgets)} disruption budgets")
    for budget in budgets:  # of a Job's pods only a number that must be there is heeded
        check(budget["spec"].get("minAvailable") == 1 if document["kind"] == "Job" else budget["spec"].get("maxUnavailable") == 0, f"budget of {name}")


def by_schema(documents):
    """Validates against the schemas of Kubernetes, if they are installed."""
    try:
        import kubernetes_validate
    except ImportError:
        print("no kubernetes_validate here: the manifests were not held against its schemas")
        return
    for document in documents:
        try:
            kubernetes_validate.validate(document, "1.29", strict=True)
        except Exception as error:  # any finding of the validator
            check(False, f"{document['kind']} {document['metadata']['name']}: {error}")


def read_link(path):
    try:
        return os.readlink(path)
    except OSError:
        return ""


class Pod:
    """Makes a root directory: this machine's, with the command in /usr/bin as in the image, read-only except for the mounts."""

    def __init__(self, scratch, name, document, data, secret):
        self.base, self.name, self.pod = os.path.join(scratch, name), name, pod_of(document)
        self.root = os.path.join(self.base, "root")
        for part in ("root", "up", "work", "tmp", "own"):
            os.makedirs(os.path.join(self.base, part))
        for part in ("data", "secret", "etc", "usr/bin", "run/hawser"):
            os.makedirs(os.path.join(self.base, "up", part))
        shutil.copy(HAWSER, os.path.join(self.base, "up", "usr", "bin", "hawser"))
        with open(os.path.join(self.base, "up", "etc", "hosts"), "w", encoding="ascii") as hosts:
            hosts.write("10.77.0.1 hawser\n")
        sources = {"key": secret, "tmp": os.path.join(self.base, "tmp"), "own": os.path.join(self.base, "own"), "data": data}
        for folder in ("tmp", "own"):
            os.chown(sources[folder], 0, USER)
            os.chmod(sources[folder], 0o770)
        self.setup = ["set -e",
                      f"mount -t overlay none -o lowerdir=/,upperdir={self.base}/up,workdir={self.base}/work {self.root}",
                      f"mount -o remount,ro {self.root}"]
        self.mounts = lambda container: [
            f"mount --bind {sources[m['name']]} {self.root}{m['mountPath']}" +
            (f" && mount -o remount,ro,bind {self.root}{m['mountPath']}" if m.get("readOnly") else "") for m in container["volumeMounts"]]

        self.enter = (f"exec chroot {self.root} setpriv --reuid {USER} --regid {USER} --groups {USER} --no-new-privs "
                      "--bounding-set -all --inh-caps -all ")

    def words(self, container):
        """A real pod has an address of its own; here the nodes share one, and their ports differ."""
        words = container.get("command", ["/usr/bin/hawser"]) + container.get("args", [])
        port = 7001 + int(self.name.rpartition("node-")[2] if "node-" in self.name else 0)
        return [word.replace("$(POD)", self.name).replace("--port-range=7001", f"--port-range={port}") for word in words]

    def shell(self, how, lines, **environment):
        with open(os.path.join(self.base, "out"), "ab") as out:
            return subprocess.Popen([*how, "sh", "-c", "\n".join(lines)], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                    env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/", **environment})

    def start(self, container, **environment):
        lines = [*self.setup, *self.mounts(container), f"mount -t proc none {self.root}/proc || true",
                 self.enter + shlex.join(self.words(container))]
        return self.shell(["unshare", "--mount", "--propagation", "private"], lines, **environment)

    def probe(self, words):
        """Runs a command within the running pod."""
        until(lambda: self.process.poll() is not None or read_link(f"/proc/{self.process.pid}/exe").endswith("/hawser"), f"{self.name}")
        return self.shell(["nsenter", f"--mount=/proc/{self.process.pid}/ns/mnt"], [self.enter + shlex.join(words)]).wait(SECONDS)

    def said(self):
        with open(os.path.join(self.base, "out"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def initialise(self):
        for container in self.pod["initContainers"]:
            check(self.start(container).wait(SECONDS) == 0, f"{self.name}: {container['name']}: {self.said()}")

    def run(self, **environment):
        self.process = self.start(self.pod["containers"][0], **environment)
        atexit.register(self.process.kill)


def listens(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def deploy(scratch, data, secret, driver, nodes, name, **environment):
    pods = [Pod(scratch, f"{name}-driver", driver, data, secret)]
    pods += [Pod(scratch, f"{name}-node-{i}", nodes, data, secret) for i in range(nodes["spec"]["replicas"])]
    for pod in pods:
        pod.initialise()
    pods[0].run(**environment)
    probe = pods[0].pod["containers"][0]["readinessProbe"]["tcpSocket"]["port"]
    until(lambda: listens(probe) or pods[0].process.poll() is not None, f"readiness: {pods[0].said()}")
    for pod in pods[1:]:
        pod.run()
    return pods


def ended(pods, codes, what):
    for pod in pods:
        try:
            code = pod.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            code = None
        check(code in codes, f"{what}: {pod.name} exit {code}: {pod.said()}")


def folders(scratch, name, key):
    """Prepares /data and /secret; the key has the mode of a secret under fsGroup."""
    data, secret = os.path.join(scratch, f"{name}.data"), os.path.join(scratch, f"{name}.secret")
    os.mkdir(data)
    os.mkdir(secret)
    hawser("key", f"{secret}/{key}")
    os.chmod(f"{secret}/{key}", 0o440)
    os.chown(f"{secret}/{key}", 0, USER)
    os.chown(data, 0, USER)
    os.chmod(data, 0o2770)
    return data, secret


def serve(scratch, store):
    """The server's pod twice: the second one has the tables of the first."""
    data, secret = folders(scratch, "store", "store.key")
    shutil.copy(f"{secret}/store.key", f"{scratch}/client.key")
    os.chmod(f"{scratch}/client.key", 0o400)
    at = ("--at", "127.0.0.1:7000", "--key-file", f"{scratch}/client.key")
    for name in ("first", "second"):
        pod = Pod(scratch, f"store-{name}", store, data, secret)
        pod.initialise()
        pod.run()
        until(lambda one=pod: listens(7000) or one.process.poll() is not None, f"readiness of the store: {pod.said()}")
        if name == "first":
            hawser("store", "make", "w", "--keys", "0..9", *at)
            hawser("store", "put", "w", "3=0.5", *at)
        live = pod.pod["containers"][0]["livenessProbe"]["exec"]["command"]
        check(pod.probe(live) == 0, f"{pod.name}: not alive: {pod.said()}")
        done = subprocess.run([HAWSER, "store", "get", "w", "3", *at], capture_output=True, text=True, check=False, env=CLEAN)
        check(done.stdout == "3 0.5\n", f"{pod.name}: {done.stdout}{done.stderr}")
        pod.process.send_signal(signal.SIGTERM)
        ended([pod], (0,), "the store")
        check(os.path.exists(f"{data}/tables.safetensors"), f"{pod.name}: no tables were saved")


def tensors(path):
    """Returns the bytes of a model, without the facts of its header, which have the options."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        header.pop("__metadata__")
        return header, file.read()


def train(scratch, driver, nodes):
    data, secret = folders(scratch, "train", "job.key")
    hawser("data", "generate", "dense", "--rows", "500", "--cols", "200", "-o", f"{scratch}/train.svm")
    hawser("data", "convert", f"{scratch}/train.svm", "--index-base", "1", "-o", f"{data}/train.hwc")
    model = os.path.join(data, "model.safetensors")

    options = {"HAWSER_TOL": "1e-9", "HAWSER_EXCHANGE_EVERY": "1"}
    slow = {**options, "HAWSER_SLOW": "1:300", "HAWSER_TRACE": "/tmp/trace.csv", "HAWSER_CHECKPOINT_EVERY": "0"}
    pods = deploy(scratch, data, secret, driver, nodes, "whole", **options)
    ended(pods, (0,), "a training")
    check(os.path.exists(model), "no model")
    wanted = tensors(model)
    check("rejected" not in pods[0].said(), f"the probe is taken for an intruder: {pods[0].said()}")
    with open(os.path.join(data, "log.jsonl"), encoding="utf-8") as log:
        check('"event"' in log.readline(), "no log")
    os.unlink(model)

    # SIGTERM, as when a pod is deleted: a checkpoint and the model so far are saved, well within the grace period.
    pods = deploy(scratch, data, secret, driver, nodes, "stopped", **slow)
    for pod in pods[1:]:
        live = pod.pod["containers"][0]["livenessProbe"]["exec"]["command"]
        check(pod.probe(live) == 0, f"{pod.name}: not alive: {pod.said()}")
    trace = os.path.join(scratch, "stopped-driver", "tmp", "trace.csv")
    until(lambda: os.path.exists(trace) and sum(1 for _ in open(trace, encoding="ascii")) > 3, "clocks")
    pods[0].process.send_signal(signal.SIGTERM)
    try:
        check(pods[0].process.wait(pods[0].pod["terminationGracePeriodSeconds"]) == 130, f"SIGTERM: {pods[0].said()}")
    except subprocess.TimeoutExpired:
        check(False, f"SIGTERM: not within the grace period: {pods[0].said()}")
    ended(pods[1:], (0, 130), "SIGTERM")
    check(os.path.exists(model), f"SIGTERM: no model: {pods[0].said()}")
    check("goes on with the same command (/data/checkpoint)" in pods[0].said(), f"SIGTERM: no checkpoint: {pods[0].said()}")

    # A node is killed: the driver ends with a code after which it is started again, and goes on from the checkpoint to the model of the first training.
    os.unlink(trace)
    pods = deploy(scratch, data, secret, driver, nodes, "lost", **slow)
    trace = os.path.join(scratch, "lost-driver", "tmp", "trace.csv")
    until(lambda: os.path.exists(trace) and sum(1 for _ in open(trace, encoding="ascii")) > 3, "clocks")
    pods[1].process.kill()
    ended(pods[:1], (8,), "a lost node")
    ended(pods[1:], (-signal.SIGKILL, 8), "a lost node")
    check("goes on from clock" in pods[0].said(), f"the start after SIGTERM began anew: {pods[0].said()}")
    pods = deploy(scratch, data, secret, driver, nodes, "again", **options)
    ended(pods, (0,), "the start after a loss")
    check("goes on from clock" in pods[0].said(), f"the start after a loss began anew: {pods[0].said()}")
    check(tensors(model) == wanted, "the start after a loss has another model")
    check(not os.listdir(os.path.join(data, "checkpoint")), "a training that has ended left checkpoints")


def main():
    scratch = tempfile.mkdtemp(prefix="hawser-deploy-")
    os.chmod(scratch, 0o755)
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    unit, serve_unit = (os.path.join(SOURCE, "deploy", name) for name in ("hawser-node@.service", "hawser-serve.service"))
    verify_unit(scratch, unit)
    run_unit(scratch, unit)
    verify_unit(scratch, serve_unit)
    run_serve_unit(scratch, serve_unit)
    images()
    try:
        import yaml
    except ImportError:
        print("no yaml for Python here: the manifests were not looked at")
        sys.exit(1 if failures else 77)
    documents = {}
    for name in ("hawser", "serve"):
        with open(os.path.join(SOURCE, "deploy", "kubernetes", f"{name}.yaml"), encoding="utf-8") as file:
            documents[name] = list(yaml.safe_load_all(file))
        by_schema(documents[name])
    driver, nodes = fit_together(documents["hawser"])
    store = fits_store(documents["serve"])
    if "DEPLOY_TEST_INSIDE" not in os.environ:
        print("pods need root and namespaces: their command lines were not run")
    elif os.environ.get("HAWSER_SANITIZE"):
        print("a command with sanitizers wants more rights than a pod has")
    else:
        train(scratch, driver, nodes)
        serve(scratch, store)
    print("all as expected" if failures == 0 else f"{failures} failures")
    sys.exit(failures > 0)


# A separate network namespace, because the port is the one that the manifests name.
NETWORK = ("ip link set lo up && ip link add pods type veth peer name sdop && ip link set sdop up && ip link set pods up && "
           "ip address add 10.77.0.1/24 dev pods && exec \"$@\"")
if os.geteuid() == 0 and "DEPLOY_TEST_INSIDE" not in os.environ:
    if subprocess.run(["unshare", "--net", "sh", "-c", NETWORK, "sh", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        done = subprocess.run(["unshare", "--net", "sh", "-c", NETWORK, "sh", sys.executable, *sys.argv],
                              env={**os.environ, "DEPLOY_TEST_INSIDE": "1"}, check=False)
        sys.exit(done.returncode)
main()
