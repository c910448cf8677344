"""Runs the cases and writes rows.jsonl; rows that are there already for these versions are kept.

  make_rows.py [--only SUBSTRING]... [--sample N] [--redo] [--output FILE]

--sample N: run N cases spread over the list and fail when one differs from its committed row.
"""

import argparse
import importlib.metadata
import json
import pathlib
import sys
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import cases  # noqa: E402

# Raised when the tracker or the stand-ins count otherwise: rows of an older one are made anew.
# 2: the engine's sums of gradients are in place, as with tensors that are not fake.
TRACKER = 2
PACKAGES = ("torch", "transformers", "peft", "trl", "accelerate")


def versions():
    return {name: importlib.metadata.version(name) for name in PACKAGES}


def measure(case):
    import case as runner
    from transformers import AutoConfig

    settings = dict(cases.config_of(case))
    config = AutoConfig.for_model(settings.pop("model_type"), **settings)
    return runner.run(case, config)


def is_current(row, stack):
    return "measured" in row and row["versions"] == stack and row.get("tracker") == TRACKER


def read(path):
    if not path.exists():
        return {}
    rows = (json.loads(line) for line in path.read_text().splitlines())
    return {row["id"]: row for row in rows}


def write(path, rows):
    order = {case["id"]: i for i, case in enumerate(cases.all_cases())}
    ordered = sorted(rows.values(), key=lambda row: order.get(row["id"], len(order)))
    temporary = path.with_suffix(".tmp")
    temporary.write_text("".join(json.dumps(row) + "\n" for row in ordered))
    temporary.replace(path)


def run_one(case, stack):
    row = {**case, "versions": stack, "tracker": TRACKER}
    try:
        row["measured"] = measure(case)
    except Exception as error:  # a case that the libraries refuse is a result too
        row["refused"] = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
        row["trace"] = traceback.format_exc()
    return row


def sample(rows, count, stack):
    known = [row for row in rows.values() if is_current(row, stack)]
    if not known:
        print("no rows of the installed versions: nothing to compare")
        return 0
    failed = 0
    by_id = {case["id"]: case for case in cases.all_cases()}
    for row in known[:: max(1, len(known) // count)][:count]:
        again = run_one(by_id[row["id"]], stack)
        same = again.get("measured") == row["measured"]
        print(f"{row['id']}: {'as committed' if same else 'DIFFERS: ' + str(again)}")
        failed += not same
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--redo", action="store_true")
    parser.add_argument("--output", type=pathlib.Path, default=HERE / "rows.jsonl")
    options = parser.parse_args()
    rows = read(options.output)
    stack = versions()
    if options.sample:
        return sample(rows, options.sample, stack)
    for case in cases.all_cases():
        if options.only and not any(part in case["id"] for part in options.only):
            continue
        old = rows.get(case["id"])
        if old and not options.redo and is_current(old, stack):
            continue
        started = time.time()
        row = run_one(case, stack)
        trace = row.pop("trace", "")
        rows[case["id"]] = row
        write(options.output, rows)
        peak = row.get("measured", {}).get("steady_step", row.get("refused"))
        print(f"{case['id']}: {peak} ({time.time() - started:.0f} s)", flush=True)
        if trace and options.only:
            print(trace)
    return 0


if __name__ == "__main__":
    sys.exit(main())
