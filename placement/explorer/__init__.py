"""The explorer: a web page that shows provider trees, free capacity and explanations.

The page is a client of the REST API. This package only serves the files of the page, which are in
`static`. The page reads its data from the API, with the token of the user.
"""

from placement.explorer.files import Explorer
