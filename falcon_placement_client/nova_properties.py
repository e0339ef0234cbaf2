"""Properties of nova's flavors that nova translates to resources and traits.

====================================  ==========================================================
``hw:cpu_policy``                     ``dedicated``: PCPU instead of VCPU; ``mixed``: both, by
                                      ``hw:cpu_dedicated_mask`` or ``hw:cpu_realtime_mask``
``hw:cpu_thread_policy``              ``require``, ``isolate``: HW_CPU_HYPERTHREADING, or not
``hw:emulator_threads_policy``        ``isolate``: one additional PCPU
``hw:mem_encryption``                 true: one MEM_ENCRYPTION_CONTEXT
``hw:pmem``                           one CUSTOM_PMEM_NAMESPACE_… for each label
``hw:tpm_version``, ``hw:tpm_model``  COMPUTE_SECURITY_TPM_…, as ``hw:tpm_secret_security``
``hw:pci_numa_affinity_policy``       ``socket``: COMPUTE_SOCKET_PCI_NUMA_AFFINITY
``hw:maxphysaddr_mode``               COMPUTE_ADDRESS_SPACE_PASSTHROUGH or …_EMULATED
``os:secure_boot``                    ``required``: COMPUTE_SECURITY_UEFI_SECURE_BOOT
====================================  ==========================================================

Other keys of ``hw:`` that do not concern the placement service are listed here. Unknown keys, and
keys that depend on the configuration of other services, are refused.
"""

import re
from collections.abc import Iterator, Mapping

from falcon_placement_client.request_errors import RequestError, bad_value
from falcon_placement_client.terms import read_amount

Flavor = Mapping[str, str | int]

_TRAITS: Mapping[str, Mapping[str, str | None]] = {
    # Key -> its values -> the required trait, if there is one.
    "hw:tpm_version": {"1.2": "COMPUTE_SECURITY_TPM_1_2", "2.0": "COMPUTE_SECURITY_TPM_2_0"},
    "hw:tpm_model": {
        "tpm-tis": "COMPUTE_SECURITY_TPM_TIS",
        "tpm-crb": "COMPUTE_SECURITY_TPM_CRB",
    },
    "hw:tpm_secret_security": {
        "user": "COMPUTE_SECURITY_TPM_SECRET_SECURITY_USER",
        "host": "COMPUTE_SECURITY_TPM_SECRET_SECURITY_HOST",
        "deployment": "COMPUTE_SECURITY_TPM_SECRET_SECURITY_DEPLOYMENT",
    },
    "hw:pci_numa_affinity_policy": {
        "required": None,
        "preferred": None,
        "legacy": None,
        "socket": "COMPUTE_SOCKET_PCI_NUMA_AFFINITY",
    },
    "hw:maxphysaddr_mode": {
        "passthrough": "COMPUTE_ADDRESS_SPACE_PASSTHROUGH",
        "emulate": "COMPUTE_ADDRESS_SPACE_EMULATED",
    },
    "os:secure_boot": {
        "required": "COMPUTE_SECURITY_UEFI_SECURE_BOOT",
        "optional": None,
        "disabled": None,
    },
}
_HYPERTHREADING = "trait:HW_CPU_HYPERTHREADING"
_THREADS = {"prefer": None, "isolate": "forbidden", "require": "required"}
_CPU_KEYS = ("hw:cpu_policy", "hw:cpu_thread_policy", "hw:emulator_threads_policy")
_MASKS = ("hw:cpu_dedicated_mask", "hw:cpu_realtime_mask")
_TRUE = frozenset(("1", "t", "true", "on", "y", "yes"))
_FALSE = frozenset(("0", "f", "false", "off", "n", "no"))

# Keys in `hw:` that only affect nova's filters and drivers.
_NO_REQUEST = re.compile(
    r"hw:(numa_nodes|numa_(cpus|mem)\.\d+|mem_page_size|cpu_(max_)?(sockets|cores|threads)"
    r"|cpu_realtime|cpu_realtime_mask|cpu_dedicated_mask|boot_menu|watchdog_action"
    r"|serial_port_count|vif_multiqueue_enabled|virtio_packed_ring|locked_memory"
    r"|maxphysaddr_bits|hide_hypervisor_id|video_ram)\Z"
)

# Keys whose meaning is defined in other services -> the keys to use instead.
_REFUSED = {
    "accel:device_profile": "its groups are in cyborg: state their resources and traits",
    "pci_passthrough:alias": "its meaning is in nova's configuration: state its resources",
    "hw:mem_encryption_model": "state resources_S:MEM_ENCRYPTION_CONTEXT=1 and "
    "trait_S:HW_CPU_X86_AMD_SEV=required, or …_SEV_ES",
}


def is_translated(key: str) -> bool:
    """Return whether a key is translated to resources or traits."""
    return key in _TRAITS or key in _CPU_KEYS or key in ("hw:mem_encryption", "hw:pmem")


def translate(flavor: Flavor) -> dict[str, str | int]:
    """Return an equivalent flavor with resources and traits.

    Raises:
        RequestError: a value is unknown to nova, keys contradict each other, or the meaning of a
            key is not known here.
    """
    for key in flavor:
        _check(key)
    plain = {key: value for key, value in flavor.items() if not is_translated(key)}
    for key, value in (*_cpus(flavor), *_memory(flavor), *_traits(flavor)):
        if plain.setdefault(key, value) != value:
            raise bad_value(key, str(plain[key]), f"another key asks for {value}")
    return plain


def _check(key: str) -> None:
    if key in _REFUSED:
        raise RequestError(key, f"cannot be translated; {_REFUSED[key]}")
    if key.startswith("hw:") and not is_translated(key) and not _NO_REQUEST.match(key):
        raise RequestError(
            key,
            "its meaning for the placement service is not known; "
            "state it as resources:CLASS or trait:NAME",
        )


def _choice(flavor: Flavor, key: str, values: Mapping[str, str | None] | tuple[str, ...]) -> str:
    """Return the value of a key with fixed values, or an empty text.  Raises RequestError."""
    value = str(flavor.get(key, "")).strip().lower()
    if key in flavor and value not in values:
        raise bad_value(key, str(flavor[key]), f"expected {', '.join(values)}")
    return value


def _cpus(flavor: Flavor) -> Iterator[tuple[str, str | int]]:
    """Yield the number of CPUs of a flavor for each kind."""
    policy = _choice(flavor, "hw:cpu_policy", ("shared", "dedicated", "mixed"))
    threads = _choice(flavor, "hw:cpu_thread_policy", _THREADS)
    emulator = _choice(flavor, "hw:emulator_threads_policy", ("share", "isolate"))
    pinned = policy in ("dedicated", "mixed")
    for key, value in (
        ("hw:cpu_thread_policy", threads),
        ("hw:emulator_threads_policy", emulator if emulator == "isolate" else ""),
    ):
        if value and not pinned:
            raise RequestError(key, "expected with hw:cpu_policy=dedicated or mixed")
    if pinned:
        for key in ("resources:VCPU", "resources:PCPU"):
            if key in flavor:
                raise RequestError(key, f"expected without hw:cpu_policy={policy}, which says it")
        if "vcpus" not in flavor:
            raise RequestError("hw:cpu_policy", f"{policy} expects vcpus")
        vcpus = read_amount("vcpus", str(flavor["vcpus"]), least=0)
        dedicated = vcpus if policy == "dedicated" else _dedicated(flavor, vcpus)
        yield "resources:VCPU", vcpus - dedicated
        yield "resources:PCPU", dedicated + (emulator == "isolate")
    mark = _THREADS.get(threads)
    if mark:
        yield _HYPERTHREADING, mark


def _dedicated(flavor: Flavor, vcpus: int) -> int:
    """Return the number of dedicated CPUs of a mixed flavor."""
    for key in _MASKS:
        if key in flavor:
            count = len(_cpus_of_mask(key, str(flavor[key]), vcpus))
            if not 0 < count < vcpus:
                raise bad_value(key, str(flavor[key]), f"expected some of {vcpus} CPUs, not all")
            return count
    raise RequestError("hw:cpu_policy", f"mixed expects {' or '.join(_MASKS)}")


def _cpus_of_mask(key: str, mask: str, vcpus: int) -> set[int]:
    """Return the CPUs in a mask such as `0-3,^1`. A mask of exclusions starts with all CPUs."""
    included: set[int] = set()
    excluded: set[int] = set()
    items = [item.strip() for item in mask.split(",")]
    for item in items:
        match = re.fullmatch(r"(\^?)(\d{1,5})(?:-(\d{1,5}))?", item, re.ASCII)
        if match is None:
            raise bad_value(key, mask, "expected CPUs as 0-3,^1")
        cpus = range(int(match[2]), int(match[3] or match[2]) + 1)
        (excluded if match[1] else included).update(cpus)
    if all(item.startswith("^") for item in items):
        included = set(range(vcpus))
    return {cpu for cpu in included - excluded if cpu < vcpus}


def _memory(flavor: Flavor) -> Iterator[tuple[str, str | int]]:
    """Yield the kinds of memory of a flavor."""
    encrypted = str(flavor.get("hw:mem_encryption", "false")).strip().lower()
    if encrypted not in _TRUE | _FALSE:
        raise bad_value("hw:mem_encryption", encrypted, "expected true or false")
    if encrypted in _TRUE:
        yield "resources:MEM_ENCRYPTION_CONTEXT", 1
    labels = [label.strip() for label in str(flavor.get("hw:pmem", "")).split(",")]
    names = [re.sub(r"[^A-Z0-9_]", "_", label.upper()) for label in labels if label]
    for name in dict.fromkeys(names):
        yield f"resources:CUSTOM_PMEM_NAMESPACE_{name}", names.count(name)


def _traits(flavor: Flavor) -> Iterator[tuple[str, str | int]]:
    """Yield the traits that individual keys require."""
    version = flavor.get("hw:tpm_version")
    for key in ("hw:tpm_model", "hw:tpm_secret_security"):
        if key in flavor and version is None:
            raise RequestError(key, "expected with hw:tpm_version")
    if str(version) == "1.2" and flavor.get("hw:tpm_model") == "tpm-crb":
        raise bad_value("hw:tpm_model", "tpm-crb", "expected with hw:tpm_version=2.0")
    for key, values in _TRAITS.items():
        trait = values.get(_choice(flavor, key, values))
        if trait is not None:
            yield f"trait:{trait}", "required"
