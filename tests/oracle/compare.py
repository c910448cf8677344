"""The simulator against the rows: peak live bytes of each phase.

  compare.py TRAINFIT [--only SUBSTRING] [--rows FILE] [--verbose]
"""

import argparse
import collections
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import cases  # noqa: E402

# Of the parts of an answer, those that are not live tensors of the program: outside the allocator,
# cached by it, or cuBLAS' own.
NOT_LIVE = ("CUDA context", "allocator cache and fragmentation", "workspaces", "NCCL")
PHASES = ("load", "init", "first_step", "steady_step")


def arguments(row, config_path):
    name, _, loop = row["optimizer"].partition("/")
    args = ["fit", config_path, "--method", row["method"], "--on", "h200-sxm", "--json",
            "--micro-batch", str(row["batch"]), "--seq-len", str(row["length"]),
            "--precision", row["precision"], "--optimizer", name,
            "--loss", row["loss"], "--attention", row["attention"],
            "--gradient-checkpointing" if row["checkpointing"] else "--no-gradient-checkpointing"]
    if loop:
        args += ["--optimizer-loop", loop]
    if row["method"] == "lora":
        args += ["--lora-r", str(row["lora_r"]), "--lora-targets", row["lora_targets"],
                 "--lora-dropout", str(row["lora_dropout"])]
    return args


def simulate(binary, row):
    """{phase: (live bytes at the peak, {part: bytes}, moment)}, or a refusal."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "config.json"
        path.write_text(json.dumps(cases.config_of(row)))
        done = subprocess.run([binary, *arguments(row, str(path))], capture_output=True, text=True)
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError:
        return (done.stderr or done.stdout).strip().splitlines()[0]
    if "phases" not in answer:
        return json.dumps(answer)[:300]
    result = {}
    for phase in answer["phases"]:
        gpu = phase["ranks"][0]["places"][0]
        parts = {p["name"]: p["bytes"] for p in gpu["parts"] if p["name"] not in NOT_LIVE}
        result[phase["phase"]] = (sum(parts.values()), parts, gpu["peak_moment"])
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--only", default="")
    parser.add_argument("--rows", type=pathlib.Path, default=HERE / "rows.jsonl")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    errors = collections.defaultdict(list)
    refusals = collections.Counter()
    for line in options.rows.read_text().splitlines():
        row = json.loads(line)
        if options.only not in row["id"] or "measured" not in row:
            continue
        answer = simulate(options.binary, row)
        if isinstance(answer, str):
            refusals[f"{row['id'].split('/')[0]}: {answer}"] += 1
            continue
        signs = []
        for phase in PHASES:
            truth = row["measured"][phase]
            error = answer[phase][0] / truth - 1
            signs.append(f"{phase} {100 * error:+.2f} %")
            for group in (phase, f"{phase} {row['id'].split('/')[0]}",
                          f"{phase} {row['id'].split('/')[1]}"):
                errors[group].append((abs(error), error, row["id"]))
        print(f"{row['id']:48} {'  '.join(signs)}")
        if options.verbose:
            phase = "steady_step"
            print("   real:", row["measured"][phase], row["measured"][phase + "_peak_op"])
            for name, value in row["measured"]["at_peak"].items():
                if name != "largest":
                    print(f"       {name}: {value}")
            for entry in row["measured"]["at_peak"]["largest"]:
                print("      ", entry)
            print("   simulated:", answer[phase][0], answer[phase][2])
            for part in answer[phase][1].items():
                print("      ", part)
    print(f"\n{'group':56} rows   median      max")
    for group, found in sorted(errors.items()):
        worst = max(found)
        print(f"{group:56} {len(found):4} {100 * statistics.median(e[0] for e in found):7.3f} %"
              f" {100 * worst[1]:+8.2f} %  {worst[2]}")
    for text, count in refusals.items():
        print(f"refused {count}: {text}")


if __name__ == "__main__":
    main()
