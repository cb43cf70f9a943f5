import pickle

from polysched.html import Text


def test_a_prompt_shows_lines() -> None:
    text = Text("for i:\n  a < b")
    assert text == "for i:\n  a < b"
    assert repr(text) == str(text)
    assert "a &lt; b" in text._repr_html_()
    assert pickle.loads(pickle.dumps(text)) == text
