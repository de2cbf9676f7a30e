# Copyright: (c) 2026, llm_d.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pictures of docs/awx.md show each node, link and question of the data, and nothing is outside of their frames."""

from __future__ import annotations

import collections
import re
import xml.etree.ElementTree as ET

import pytest

from tools import controller, pictures

DATA = controller.data()
(FLOW,) = DATA["controller_workflows"]
SURVEY = next(each for each in DATA["controller_templates"] if each["name"] == pictures.SURVEY)
# The width of a character in pixels, by the class of its text; without a class, OTHER_WIDTH.
WIDTH, OTHER_WIDTH = {"small": 6.2, "head": 9.0}, 7.6


def texts(picture: ET.Element) -> list[str]:
    return ["".join(each.itertext()) for each in picture.findall("{*}text")]


def words(picture: ET.Element) -> str:
    return " ".join(texts(picture))


@pytest.mark.parametrize("path", pictures.generated(), ids=lambda path: path.stem)
def test_all_of_it_is_within_the_frame(path) -> None:
    picture = ET.fromstring(pictures.generated()[path])
    width, height = (float(picture.attrib[name]) for name in ("width", "height"))
    for each in picture.findall("{*}text"):
        length = len("".join(each.itertext())) * WIDTH.get(each.get("class", ""), OTHER_WIDTH)
        left = float(each.attrib["x"]) - (length / 2 if each.get("text-anchor") else 0)
        assert left >= 0 and left + length <= width and float(each.attrib["y"]) < height, "".join(each.itertext())
    for each in picture.findall("{*}rect"):
        assert float(each.attrib["x"]) + float(each.attrib["width"]) < width and float(each.attrib["y"]) + float(each.attrib["height"]) < height


def test_the_workflow_has_a_box_for_each_node_and_an_arrow_for_each_link() -> None:
    picture = ET.fromstring(pictures.workflow(FLOW))
    nodes = FLOW["simplified_workflow_nodes"]
    names = [node.get("unified_job_template") or node["approval_node"]["name"] for node in nodes]
    assert all(name.removeprefix("llm-d: ") in words(picture) for name in names)
    assert len(picture.findall("{*}rect")) == len(nodes)
    links = collections.Counter(kind for node in nodes for link, kind in pictures.LINKS.items() for _to in node.get(link, []))
    assert collections.Counter(each.attrib["class"] for each in picture.findall("{*}path")) == links and len(links) == 3


def test_the_survey_has_each_question_with_its_field() -> None:
    picture = ET.fromstring(pictures.survey(SURVEY))
    questions = SURVEY["survey_spec"]["spec"]
    assert len(picture.findall("{*}rect")) == len(questions) > 5
    for question in questions:
        assert question["question_name"] + (" *" if question["required"] else "") in texts(picture)
        assert question["question_description"] in words(picture)
        assert ", ".join(question.get("choices", [])[:2]) in words(picture)
    assert len(re.findall("▾", words(picture))) == sum("choices" in question for question in questions)
