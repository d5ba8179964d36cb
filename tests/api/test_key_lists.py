from tests.api.test_keys import ask, key_of
from tests.support.api import Starts


async def test_keys_are_listed_page_by_page_each_once_and_no_other_tenants(start_api: Starts) -> None:
    api = await start_api(auth="keys")
    _, admin = await key_of(api, "acme")
    _, other = await key_of(api, "rival")
    for number in range(4):
        await ask(api, "POST", "/v1/keys", admin, json={"name": f"k{number}", "scopes": ["runs:read"]})

    names, path, more = list[str](), "/v1/keys?limit=2", True
    while more:
        page = (await ask(api, "GET", path, admin)).json()
        names += [each["name"] for each in page["data"]]
        more = page["has_more"]
        path = f"/v1/keys?limit=2&after={page['next_cursor']}"

    assert names == ["k3", "k2", "k1", "k0", ""]
    first = (await ask(api, "GET", "/v1/keys?limit=1", admin)).json()["next_cursor"]
    assert (await ask(api, "GET", f"/v1/keys?after={first}", other)).json()["data"] == []
    refused = await ask(api, "GET", "/v1/keys?after=nonsense", admin)
    assert (refused.status_code, refused.json()["code"]) == (400, "cursor_invalid")
