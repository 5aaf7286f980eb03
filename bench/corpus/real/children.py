"""A runner of steps: a line, a child that shares standard output and says something, a line; told `large`, what they say is collected."""
import subprocess
import sys

large = sys.argv[1] == "large"
text = []
for n in range(int(sys.argv[-1]) // 200):
    if large:
        text.append(f"step {n} begins\n")
        text.append(subprocess.run(["expr", str(n), "*", "7"], stdout=subprocess.PIPE, text=True).stdout)
        text.append(f"step {n} ends\n")
    else:
        print(f"step {n} begins", flush=True)
        subprocess.run(["expr", str(n), "*", "7"])
        print(f"step {n} ends", flush=True)
if large:
    sys.stdout.write("".join(text))
