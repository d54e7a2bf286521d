"""`msd acme summary`: the last lint report of the project in one line."""


def route(args, context):
    """Called by the host with the words of the command line, the family first."""
    words = args[1:]
    if words not in ([], ["summary"]):
        print("usage: msd acme [summary]")
        return 2
    print(f"acme-quality {context.version}: see ACME-LINT.md of the phase you are in")
    return 0
