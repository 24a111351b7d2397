"""Resources against Kubernetes' own schemas: validate.py FILE VERSION...

FILE is a JSON list of {"since": 30, "resource": {...}}: a resource for Kubernetes 1.30 and newer.
Prints {"checked": count, "problems": [sentence, ...]} as JSON.
"""

import json
import sys

import kubernetes_validate

with open(sys.argv[1], encoding="utf-8") as file:
    documents = json.load(file)
checked, problems = 0, []
for document in documents:
    resource = document["resource"]
    name = f"{resource['kind']} {resource['metadata']['name']}"
    for version in sys.argv[2:]:
        if int(version.split(".")[1]) < document["since"]:
            continue
        try:
            kubernetes_validate.validate(resource, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            problems.append(f"{version} {name}: {error.message} at {list(error.path)}")
        checked += 1
print(json.dumps({"checked": checked, "problems": problems}))
