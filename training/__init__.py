"""Makes the data that newsbot ships: weights and trees that are computed from labelled pages and links.

The pages and links are not in the repository, because they belong to publishers. The packages of
``benchmarks/requirements.txt`` are needed.

* ``forest``: the trees that find the text of an article (``forest.json``)
* ``evidence``: the weights of the evidence that a page is an article (``evidence.json``)
* ``labels``: links with weak labels, and how well the shape of an address tells articles from other pages
* ``prior``: a regression for the weights of these shapes; a person chose those of ``shape.yaml`` after it
* ``links``: what newsbot learns from the links of a site, compared with other methods
"""
