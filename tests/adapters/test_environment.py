"""The environment of a `run` child, variable by variable."""

import pytest

from rulith.adapters.environment import BASICS, child_environment, is_denied

DENIED = """ANTHROPIC_API_KEY DEMO_DB_URL API_KEY APIKEY MY_API_KEY MY_APIKEY my_api_key PRIVATE_KEY SSH_PRIVATE_KEY TOKEN
GITHUB_TOKEN github_token SECRET MY_SECRET_VALUE SECRETS CLIENTSECRET PASSWORD DB_PASSWORD PASSWORD_FILE MYSQL_PASSWD PASSWDS
DATABASE_URL DB_URL MY_DATABASE_URL MY_DB_URL DSN SENTRY_DSN AWS_ACCESS_KEY_ID AWS_REGION AZURE_X GOOGLE_APPLICATION_CREDENTIALS
ANTHROPIC_BASE_URL OPENAI_ORG openai_org""".split()
ALLOWED = """PATH HOME KEY PUBLIC_KEY TOKENS TOKENIZER XTOKEN_X MYTOKEN MYAPI_KEYS API_KEY_ID MONGODB_URL MYDSN DSN_X REDIS_URL
AWSOME XAWS_REGION OPENAI PYTHONPATH LANG EDITOR""".split()


@pytest.mark.parametrize("name", DENIED)
def test_what_looks_like_a_credential_is_denied(name):
    assert is_denied(name)
    assert child_environment({name: "x"}, passed=None, added={}) == {}


@pytest.mark.parametrize("name", ALLOWED)
def test_what_does_not_is_passed(name):
    assert not is_denied(name)
    assert child_environment({name: "x"}, passed=None, added={}) == {name: "x"}


@pytest.mark.parametrize("name", ["RULITH_CONNECTION_KEY", "RULITH_TOKEN", "rulith_home", "Rulith_Case_Id", "RIVENDELL_KEY"])
def test_nothing_of_our_own_passes_even_when_it_is_named(name):
    assert child_environment({name: "x"}, passed=None, added={}) == {}
    assert child_environment({name: "x"}, passed=(name,), added={}) == {}


def test_with_a_list_only_the_basics_and_the_named_pass():
    ambient = {"PATH": "/bin", "EDITOR": "vi", "GITHUB_TOKEN": "t", "Home": "/h", "PYTHONPATH": "/p", "LC_ALL": "C", "LC_CTYPE": "C"}
    assert child_environment(ambient, passed=(), added={}) == {"PATH": "/bin", "Home": "/h", "LC_ALL": "C"}
    assert child_environment(ambient, passed=("github_token",), added={})["GITHUB_TOKEN"] == "t"


def test_a_name_is_matched_in_any_case_and_kept_as_it_was_spelled():
    assert child_environment({"My_Var": "1", "MY_VAR": "2"}, passed=("my_var",), added={}) == {"My_Var": "1", "MY_VAR": "2"}


def test_what_we_add_comes_last_and_stands():
    ambient = {"RULITH_INVOCATION_ID": "forged", "rulith_source_access": "forged"}
    assert child_environment(ambient, passed=None, added={"RULITH_INVOCATION_ID": "inv_1"}) == {"RULITH_INVOCATION_ID": "inv_1"}


def test_the_basics_are_the_listed_nineteen():
    assert len(BASICS) == 19 and {"COMSPEC", "TMPDIR", "WINDIR", "NUMBER_OF_PROCESSORS"} <= BASICS
