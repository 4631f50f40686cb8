"""The workload, with pyinfra's own operations."""

import json
import os
from io import StringIO

from pyinfra import host
from pyinfra.facts.hardware import Cpus, Memory
from pyinfra.facts.server import Arch, KernelVersion, LinuxDistribution, Command
from pyinfra.operations import apt, files, server, systemd

with open(os.environ["BENCH_WORKLOAD"], encoding="utf-8") as text:
    work = json.load(text)

wanted = work["preflight"]
distribution = host.get_fact(LinuxDistribution)
assert distribution["release_meta"]["ID"] == wanted["distribution"]
assert str(distribution["major"]) == wanted["version"]
assert host.get_fact(Arch) == wanted["architecture"]
assert host.get_fact(Memory) * 2**20 >= wanted["memory"]
assert host.get_fact(Cpus) >= wanted["processors"]
assert int(host.get_fact(KernelVersion).split(".")[0]) >= wanted["kernelMajor"]
assert host.get_fact(Command, "cat /proc/1/comm") == "systemd"
for port in work["freePorts"]:
    assert not host.get_fact(Command, f"ss -Hltn 'sport = :{port}'")

apt.packages(name="packages", packages=work["packages"])
for group in work["groups"]:
    server.group(name=f"group {group['name']}", group=group["name"], gid=group["gid"])
for user in work["users"]:
    server.user(
        name=f"user {user['name']}",
        user=user["name"],
        uid=user["uid"],
        group=user["group"],
        shell="/usr/sbin/nologin",
        ensure_home=False,
    )
for each in work["directories"]:
    files.directory(
        name=each["path"], path=each["path"], mode=each["mode"], user=each["owner"], group=each["group"]
    )
for each in work["files"]:
    files.put(
        name=each["path"],
        src=StringIO(each["content"]),
        dest=each["path"],
        mode=each["mode"],
        user=each["owner"],
        group=each["group"],
    )
for each in work["sysctl"]:
    server.sysctl(
        name=each["key"],
        key=each["key"],
        value=each["value"],
        persist=True,
        persist_file=f"/etc/sysctl.d/{each['key']}.conf",
    )
for unit in work["units"]:
    systemd.service(name=unit, service=unit, running=True, enabled=True)
files.link(
    name="time zone",
    path="/etc/localtime",
    target=f"/usr/share/zoneinfo/{work['timezone']}",
    force=True,
    force_backup=False,
)
files.put(
    name="name of the time zone",
    src=StringIO(f"{work['timezone']}\n"),
    dest="/etc/timezone",
    mode="0644",
    user="root",
    group="root",
)
for line in work["hostsLines"]:
    files.line(name=line, path="/etc/hosts", line=line)
