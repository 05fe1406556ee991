"""The page that shows the OpenAPI document. Self-contained: nothing is loaded from elsewhere."""

from __future__ import annotations

import base64
import hashlib

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
code, pre { font: 14px/1.4 ui-monospace, monospace; }
pre { background: #f5f5f5; padding: .75rem; overflow: auto; border-radius: 4px; }
summary { cursor: pointer; padding: .35rem 0; }
details { border-bottom: 1px solid #ddd; }
.method { display: inline-block; width: 5rem; font-weight: 600; }
"""

_SCRIPT = """
const make = (name, text, parent) => {
  const node = document.createElement(name);
  node.textContent = text;
  parent.append(node);
  return node;
};
const show = (parent, title, value) => {
  make('h4', title, parent);
  make('pre', JSON.stringify(value, null, 2), parent);
};
const render = (api) => {
  const main = document.querySelector('main');
  main.textContent = '';
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const block = make('details', '', main);
      const head = make('summary', '', block);
      make('span', method.toUpperCase(), head).className = 'method';
      make('code', path, head);
      make('span', ' · ' + operation.summary, head);
      if (operation.description) make('p', operation.description, block);
      if (operation.parameters.length) show(block, 'Parameters', operation.parameters);
      if (operation.requestBody) show(block, 'Request', operation.requestBody.content);
      show(block, 'Responses', operation.responses);
    }
  }
  make('h2', 'Schemas', main);
  for (const [name, schema] of Object.entries(api.components.schemas)) {
    const block = make('details', '', main);
    make('summary', name, block);
    make('pre', JSON.stringify(schema, null, 2), block);
  }
};
fetch('openapi.json').then((answer) => answer.json()).then(render);
"""

PAGE = f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Almanac API</title>
<style>{_STYLE}</style>
<h1>Almanac API</h1>
<p>Every call carries <code>Authorization: Bearer …</code>; the machine-readable form is
<a href="openapi.json">openapi.json</a>.</p>
<main>Loading …</main>
<script>{_SCRIPT}</script>
</html>
"""


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


# Only this page's own style and script run, and only this host is asked.
POLICY = f"default-src 'none'; connect-src 'self'; style-src {_hash(_STYLE)}; script-src {_hash(_SCRIPT)}"
