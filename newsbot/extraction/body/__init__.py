"""The text of a page by one judge.

In reading order:

``pieces``        one walk over the tree cuts the page into runs of text, each with its box
``features``      numbers about each piece: itself, its boxes, its place, its neighbours
``judge``         boosted trees (``forest.json``) score each piece; above 0 it belongs to the article
``nextarticles``  other articles below the page's own, which are left out before the cut
``text``          pieces to paragraphs; rules, structured data and site memory before and after the judge
"""
