// Example requests. They name standard classes and traits, so they suit any cloud; the
// demonstration cloud serves all but the last.

/** A title for each request, and the request, or a function of the cloud that returns it. */
export const EXAMPLES = [
  [
    "A small instance",
    { groups: { "": { resources: { VCPU: 2, MEMORY_MB: 4096, DISK_GB: 20 } } }, limit: 20 },
  ],
  [
    "Dedicated CPUs and an FPGA on one NUMA node",
    {
      groups: {
        "_CPU": { resources: { PCPU: 4 } },
        "_FPGA": { resources: { FPGA: 1 } },
        "_NUMA": { required: ["HW_NUMA_ROOT"] },
      },
      same_subtree: [{ of: ["_NUMA", "_CPU", "_FPGA"], not: [] }],
      limit: 20,
    },
  ],
  [
    "Two graphics cards from different providers",
    {
      groups: {
        "": { resources: { VCPU: 8, MEMORY_MB: 65536 } },
        "_1": { resources: { PGPU: 1 } },
        "_2": { resources: { PGPU: 1 } },
      },
      isolate: ["_1", "_2"],
      limit: 20,
    },
  ],
  [
    "A disk that several hosts share",
    {
      groups: {
        "": { resources: { VCPU: 4, MEMORY_MB: 16384 } },
        "_DISK": {
          resources: { DISK_GB: 100 },
          required: ["MISC_SHARES_VIA_AGGREGATE"],
        },
      },
      limit: 20,
    },
  ],
  [
    "More than any host has: why not?",
    (cloud) => {
      const [name = "VCPU"] = cloud.classes();
      const capacities = [...cloud.trees.keys()].map((root) => cloud.sum(root, name)?.capacity);
      const most = capacities.reduce((one, other) => Math.max(one, other ?? 0), 0);
      return { groups: { "": { resources: { [name]: most + 1 } } }, limit: 20 };
    },
  ],
];
