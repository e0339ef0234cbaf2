"""Values for the examples in the OpenAPI document, shared by requests and responses."""

PROVIDER = "4e8e5957-649f-477b-9e5b-f1f75b21c03c"
PARENT = "542df8ed-9be2-49b9-b4db-6d3183ff8ec8"
ROOT = PARENT
AGGREGATE = "42896e0d-205d-4fe3-bd1e-100924931787"
CONSUMER = "30328d13-e299-4a93-a102-61e4ccabe474"
HOLD = "6d3f2d8c-8e4e-4a6e-9d1c-3f1f9f0a4c55"
PROJECT = "131d4efb-abc0-4872-9b92-8c8b9dc4320f"
USER = "e0b927a0-6f5b-4f0e-9b4a-2d5f5c9cd9d7"
PROVIDER_NAME = "compute-1.example.org"
TRAIT = "HW_CPU_X86_AVX2"
CUSTOM_CLASS = "CUSTOM_FPGA"
AMOUNTS = {"VCPU": 2, "MEMORY_MB": 4096}
CURSOR = "000000000000012c3f1d0b0e6e0c4d5c"
REQUEST_ID = "req-3f1d0b0e-6e0c-4d5c-8a4e-7a1d1c3f2b55"
