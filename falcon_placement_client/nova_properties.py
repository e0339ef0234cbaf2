"""Properties of nova's flavors that nova translates to resources and traits.

====================================  ==========================================================
``ephemeral``, ``swap``               added to ``disk``; swap is in MiB and rounded up
``hw:cpu_policy``                     ``dedicated``: PCPU instead of VCPU; ``mixed``: both, by
                                      ``hw:cpu_dedicated_mask`` or ``hw:cpu_realtime_mask``
``hw:cpu_thread_policy``              ``require``, ``isolate``: HW_CPU_HYPERTHREADING, or not
``hw:emulator_threads_policy``        ``isolate``: one additional PCPU
``hw:mem_encryption``                 true: one MEM_ENCRYPTION_CONTEXT, and the trait of
                                      ``hw:mem_encryption_model`` (default: ``amd-sev``)
``hw:pmem``                           one CUSTOM_PMEM_NAMESPACE_… for each label
``hw:tpm_version``                    COMPUTE_SECURITY_TPM_…, with ``hw:tpm_model`` (default:
                                      ``tpm-tis``); root: ``hw:tpm_secret_security`` (``user``)
``hw:pci_numa_affinity_policy``       ``socket``: COMPUTE_SOCKET_PCI_NUMA_AFFINITY
``hw:maxphysaddr_mode``               COMPUTE_ADDRESS_SPACE_PASSTHROUGH or …_EMULATED
``hw:virtio_packed_ring``             true: COMPUTE_NET_VIRTIO_PACKED of the root
``hw:ephemeral_encryption``           true: COMPUTE_EPHEMERAL_ENCRYPTION of the root, and the
                                      trait of ``hw:ephemeral_encryption_format``
``os:secure_boot``                    ``required``: COMPUTE_SECURITY_UEFI_SECURE_BOOT
====================================  ==========================================================

Other keys of ``hw:`` that do not concern the placement service are listed here. Unknown keys, and
keys that depend on the configuration of other services, are refused. The image of an instance and
nova's own configuration can add further conditions, such as ``root_required=OWNER_NOVA``.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from falcon_placement_client.errors import RequestError, bad_value
from falcon_placement_client.terms import read_amount

Flavor = Mapping[str, str | int]

_STATELESS_FIRMWARE = "COMPUTE_SECURITY_STATELESS_FIRMWARE"
# Key -> its values -> the required traits.
_TRAITS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "hw:tpm_version": {"1.2": ["COMPUTE_SECURITY_TPM_1_2"], "2.0": ["COMPUTE_SECURITY_TPM_2_0"]},
    "hw:tpm_model": {
        "tpm-tis": ["COMPUTE_SECURITY_TPM_TIS"],
        "tpm-crb": ["COMPUTE_SECURITY_TPM_CRB"],
    },
    "hw:mem_encryption_model": {
        "amd-sev": ["HW_CPU_X86_AMD_SEV"],
        "amd-sev-es": ["HW_CPU_X86_AMD_SEV_ES"],
        "amd-sev-snp": ["HW_CPU_X86_AMD_SEV_SNP", _STATELESS_FIRMWARE],
        "intel-tdx": ["HW_CPU_X86_INTEL_TDX", _STATELESS_FIRMWARE],
    },
    "hw:pci_numa_affinity_policy": {
        "required": [],
        "preferred": [],
        "legacy": [],
        "socket": ["COMPUTE_SOCKET_PCI_NUMA_AFFINITY"],
    },
    "hw:maxphysaddr_mode": {
        "passthrough": ["COMPUTE_ADDRESS_SPACE_PASSTHROUGH"],
        "emulate": ["COMPUTE_ADDRESS_SPACE_EMULATED"],
    },
    "os:secure_boot": {
        "required": ["COMPUTE_SECURITY_UEFI_SECURE_BOOT"],
        "optional": [],
        "disabled": [],
    },
}
# Key -> its values -> the trait that the root must have.
_ROOT_TRAITS: Mapping[str, Mapping[str, str]] = {
    "hw:tpm_secret_security": {
        "user": "COMPUTE_SECURITY_TPM_SECRET_SECURITY_USER",
        "host": "COMPUTE_SECURITY_TPM_SECRET_SECURITY_HOST",
        "deployment": "COMPUTE_SECURITY_TPM_SECRET_SECURITY_DEPLOYMENT",
    },
    "hw:ephemeral_encryption_format": {
        "plain": "COMPUTE_EPHEMERAL_ENCRYPTION_PLAIN",
        "luks": "COMPUTE_EPHEMERAL_ENCRYPTION_LUKS",
        "luksv2": "COMPUTE_EPHEMERAL_ENCRYPTION_LUKSV2",
    },
}
# Key that is true or false -> the trait that the root must have if it is true.
_ROOT_SWITCHES = {
    "hw:virtio_packed_ring": "COMPUTE_NET_VIRTIO_PACKED",
    "hw:ephemeral_encryption": "COMPUTE_EPHEMERAL_ENCRYPTION",
}
# Key -> the keys that only have an effect together with it, and their defaults.
_DEPENDENTS: Mapping[str, Mapping[str, str | None]] = {
    "hw:tpm_version": {"hw:tpm_model": "tpm-tis", "hw:tpm_secret_security": "user"},
    "hw:mem_encryption": {"hw:mem_encryption_model": "amd-sev"},
    "hw:ephemeral_encryption": {"hw:ephemeral_encryption_format": None},
}
_HYPERTHREADING = "trait:HW_CPU_HYPERTHREADING"
_THREADS = {"prefer": None, "isolate": "forbidden", "require": "required"}
_CPU_KEYS = ("hw:cpu_policy", "hw:cpu_thread_policy", "hw:emulator_threads_policy")
_MASKS = ("hw:cpu_dedicated_mask", "hw:cpu_realtime_mask")
_MASKS_OF_MIXED = "hw:cpu_dedicated_mask, or hw:cpu_realtime_mask with hw:cpu_realtime=true"
_TRUE = frozenset(("1", "t", "true", "on", "y", "yes"))
_FALSE = frozenset(("0", "f", "false", "off", "n", "no"))

# Keys in `hw:` that only affect nova's filters and drivers.
_NO_REQUEST = re.compile(
    r"hw:(numa_nodes|numa_(cpus|mem)\.\d+|mem_page_size|cpu_(max_)?(sockets|cores|threads)"
    r"|cpu_realtime|cpu_realtime_mask|cpu_dedicated_mask|boot_menu|watchdog_action"
    r"|serial_port_count|vif_multiqueue_enabled|locked_memory|maxphysaddr_bits"
    r"|hide_hypervisor_id|video_ram|pmu|redirected_usb_ports|sound_model|usb_model|viommu_model)\Z"
)

# Keys whose meaning is defined in other services -> the keys to use instead.
_REFUSED = {
    "accel:device_profile": "its groups are in cyborg: state their resources and traits",
    "pci_passthrough:alias": "its meaning is in nova's configuration: state its resources",
}
_TRANSLATED = frozenset(
    (*_TRAITS, *_ROOT_TRAITS, *_ROOT_SWITCHES, *_CPU_KEYS, "hw:mem_encryption", "hw:pmem")
)


def is_translated(key: str) -> bool:
    """Return whether a key is translated to resources or traits."""
    return key in _TRANSLATED


def translate(flavor: Flavor) -> dict[str, str | int]:
    """Return an equivalent flavor with resources and traits.  Raises RequestError."""
    for key in flavor:
        _check(key)
    plain = {key: value for key, value in flavor.items() if not is_translated(key)}
    flavor = _with_dependents(flavor)
    for key, value in (*_cpus(flavor), *_memory(flavor), *_traits(flavor)):
        if str(plain.setdefault(key, value)) != str(value):
            raise bad_value(key, str(plain[key]), f"another key asks for {value}")
    traits = list(_root_traits(flavor))
    if traits:
        stated = [str(plain["root_required"])] if "root_required" in plain else []
        plain["root_required"] = ";".join([*stated, ",".join(traits)])
    return plain


def _with_dependents(flavor: Flavor) -> Flavor:
    """Return a flavor in which each dependent key has a value exactly if it has an effect."""
    complete = dict(flavor)
    for key, dependents in _DEPENDENTS.items():
        is_on = key in flavor if key in _TRAITS else _is_true(flavor, key)
        for dependent, default in dependents.items():
            if not is_on:
                complete.pop(dependent, None)
            elif default is not None:
                complete.setdefault(dependent, default)
    return complete


def _is_true(flavor: Flavor, key: str) -> bool:
    """Return whether a key with the values true and false is true. Raises RequestError."""
    value = str(flavor.get(key, "false")).strip().lower()
    if value not in _TRUE | _FALSE:
        raise bad_value(key, value, "expected true or false")
    return value in _TRUE


def _check(key: str) -> None:
    if key in _REFUSED:
        raise RequestError(key, f"cannot be translated; {_REFUSED[key]}")
    if key.startswith("hw:") and not is_translated(key) and not _NO_REQUEST.match(key):
        raise RequestError(
            key,
            "its meaning for the placement service is not known; "
            "state it as resources:CLASS or trait:NAME",
        )


def _choice(flavor: Flavor, key: str, values: Collection[str]) -> str:
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
        if value and not (pinned or any(name.endswith(":PCPU") for name in flavor)):
            raise RequestError(key, "expected with hw:cpu_policy=dedicated or mixed")
    if "hw:cpu_dedicated_mask" in flavor and policy != "mixed":
        raise RequestError("hw:cpu_dedicated_mask", "expected with hw:cpu_policy=mixed")
    if pinned:
        for key in ("resources:VCPU", "resources:PCPU"):
            if str(flavor.get(key, 0)) != "0":
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
        has_effect = key != "hw:cpu_realtime_mask" or _is_true(flavor, "hw:cpu_realtime")
        if key in flavor and has_effect:
            count = len(_cpus_of_mask(key, str(flavor[key]), vcpus))
            if not 0 < count < vcpus:
                raise bad_value(key, str(flavor[key]), f"expected some of {vcpus} CPUs, not all")
            return count
    raise RequestError("hw:cpu_policy", f"mixed expects {_MASKS_OF_MIXED}")


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
    if _is_true(flavor, "hw:mem_encryption"):
        yield "resources:MEM_ENCRYPTION_CONTEXT", 1
    labels = [label.strip() for label in str(flavor.get("hw:pmem", "")).split(",")]
    names = [re.sub(r"[^A-Z0-9_]", "_", label.upper()) for label in labels if label]
    for name in dict.fromkeys(names):
        yield f"resources:CUSTOM_PMEM_NAMESPACE_{name}", names.count(name)


def _traits(flavor: Flavor) -> Iterator[tuple[str, str | int]]:
    """Yield the traits that individual keys require."""
    model = flavor.get("hw:tpm_model")
    if str(flavor.get("hw:tpm_version")) == "1.2" and model == "tpm-crb":
        raise bad_value("hw:tpm_model", model, "expected with hw:tpm_version=2.0")
    for key, values in _TRAITS.items():
        for trait in values.get(_choice(flavor, key, values), ()):
            yield f"trait:{trait}", "required"


def _root_traits(flavor: Flavor) -> Iterator[str]:
    """Yield the traits that individual keys require of the root."""
    for key, trait in _ROOT_SWITCHES.items():
        if _is_true(flavor, key):
            yield trait
    for key, values in _ROOT_TRAITS.items():
        choice = _choice(flavor, key, values)
        if choice:
            yield values[choice]
