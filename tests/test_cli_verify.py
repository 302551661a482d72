"""`posenc verify`: good news, bad news, one JSON document, and wrong usage."""

import json
import sys

import pytest

import posenc
from posenc import cli, verify
from posenc.verify import sample
from posenc.verify.sample import NEAR


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    """A comparison that takes half a second."""
    monkeypatch.setattr(sample, "DIMS", (3, 64))


def run(*arguments):
    """Exit code of the command line, in this process."""
    before, sys.argv = sys.argv, ["posenc", *arguments]
    try:
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return ended.value.code
    finally:
        sys.argv = before


def test_the_command_says_that_all_is_well(capsys):
    assert run("verify", "--values", "1") == 0

    said = capsys.readouterr()
    assert "Every bound holds" in said.out
    assert "5 of them with a gain" in " ".join(said.out.split())
    assert "BROKEN" not in said.out
    assert said.err == ""


def test_the_command_tells_bad_news(capsys, monkeypatch):
    right = posenc.encode
    monkeypatch.setattr(verify, "encode", lambda *a, **options: -right(*a, **options))

    assert run("verify", "--values", "1") == 1

    said = capsys.readouterr()
    assert "A bound is broken" in said.out
    assert "encode, float32, positions near" in " ".join(said.out.split())


def test_json_is_one_document(capsys):
    assert run("verify", "--values", "1", "--seed", "5", "--json") == 0

    said = capsys.readouterr()
    document = json.loads(said.out)
    assert said.err == ""
    assert (document["command"], document["seed"], document["device"]) == ("verify", 5, "cpu")
    assert document["sound"] is True
    assert document["encodings"] > document["with_gain"] == 5
    assert len(document["rows"]) == 3 * 4 * len(NEAR)
    assert document["values"] == sum(row["values"] for row in document["rows"][: len(NEAR)])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--device", "no-such"), "got device 'no-such'"),
        (("--values", "0"), "values"),
        (("--values", "99999999999999"), "values"),
        (("--family", "rotary", "--values", "99999999999999"), "values"),
        (("--seed", "-1"), "seed"),
    ],
)
def test_wrong_usage_ends_with_two(arguments, text, capsys):
    assert run("verify", *arguments) == 2
    assert text in capsys.readouterr().err


@pytest.mark.parametrize("family", ["encodings", "rotary"])
@pytest.mark.parametrize("device", ["privateuseone", "hpu", "mps", "xla", "ideep", "mkldnn", "meta", "cpu:-1", ""])
def test_a_device_that_is_not_there_is_refused_in_one_line(device, family, capfd):
    import torch

    if device not in {"ideep", "mkldnn", "", "cpu:-1"} and getattr(torch, device, None) is not None:
        module = getattr(torch, device)
        if hasattr(module, "is_available") and module.is_available():
            pytest.skip(f"this machine has {device}")

    assert run("verify", "--values", "1", "--device", device, "--family", family) == 2

    said = capfd.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"posenc: got device {device!r} (")
    assert said.err.count("\n") == 1
    assert len(said.err) < 200
