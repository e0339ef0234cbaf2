"""The search of trees for candidates."""

from placement.candidates.plan import SearchPlan
from placement.candidates.requirements import Requirement
from placement.candidates.search.anchors import AnchorSearches, Search
from placement.candidates.search.candidate import Candidate
from placement.candidates.search.ordered import OrderedHosts
from placement.candidates.search.result import SearchResult
from placement.candidates.search.solver import solutions
from placement.candidates.search.splits import SplitSearches, is_served, split_signature
