"""Load and dump cloud files, which describe clouds in YAML.

`cloudfile` documents the format. The package only uses the REST API, so it works with any server.
"""

from falcon_placement_client.loader.apply import LoadOutcome as LoadOutcome
from falcon_placement_client.loader.apply import apply as apply
from falcon_placement_client.loader.cloud import Cloud as Cloud
from falcon_placement_client.loader.cloud import CloudConsumer as CloudConsumer
from falcon_placement_client.loader.cloud import LoadError as LoadError
from falcon_placement_client.loader.cloudfile import load_file as load_file
from falcon_placement_client.loader.command import dump_cloud as dump_cloud
from falcon_placement_client.loader.command import load as load
from falcon_placement_client.loader.command import load_cloud as load_cloud
from falcon_placement_client.loader.command import other_providers as other_providers
from falcon_placement_client.loader.command import preview as preview
from falcon_placement_client.loader.command import provider_uuids as provider_uuids
from falcon_placement_client.loader.writing import lines as lines
from falcon_placement_client.yamlfile.problems import UnusableFile as UnusableFile
