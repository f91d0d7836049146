# Prints the answers to the expressions of a file as JSON: python3 answers.py library.txt
import base64, binascii, collections, datetime, functools, hashlib, itertools, json, math, re, struct, sys


def answer(expression):
    try:
        return repr(eval(expression))
    except Exception as e:
        return type(e).__name__.replace("PatternError", "error") + (": " + str(e) if isinstance(e, ValueError) and "json" in expression else "")


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as f:
        json.dump({e: answer(e) for e in f.read().splitlines()}, sys.stdout, indent=1)
