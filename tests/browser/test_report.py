"""A doctor's report in the page: drawn where there is one, faults first, and whatever its texts hold is only text."""

from tests.browser.controls import wide
from tests.browser.test_axe import REPORT
from tests.browser.test_sentences import HOSTILE


def test_without_a_report_there_is_no_section_for_it(opened):
    page = opened()

    assert page.locator("#report").is_hidden()
    assert page.locator("nav a[href='#report']").is_hidden()


def test_a_report_is_drawn_with_its_faults_first(opened):
    page = opened(report=REPORT)
    text = page.locator("#report").inner_text()

    assert page.locator("nav a[href='#report']").is_visible()
    assert "their.module:Layer" in text
    assert "3 checks" in text
    assert text.index("batch-axis") < min(text.index("order"), text.index("compile"))
    assert all(said in text for said in ("0.97", "rows of a batch differ", "add pe[:, :x.size(1)]", "no compiler"))


def test_a_report_without_checks_and_one_with_hostile_texts_are_drawn(opened):
    bare = opened(report={**REPORT, "convention": None, "checks": []})
    check = {**REPORT["checks"][0], **dict.fromkeys(("id", "reason", "fix", "docs"), HOSTILE * 5), "measured": HOSTILE}
    page = opened(size="phone", report={**REPORT, "target": HOSTILE, "convention": HOSTILE, "checks": [check]})

    assert bare.locator("#report").is_visible()
    assert page.title() == bare.title()
    assert page.locator("script").count() == bare.locator("script").count()
    assert page.locator("#report img").count() == 0
    assert HOSTILE.split()[0] in page.locator("#report").inner_text()
    assert wide(page) == []
