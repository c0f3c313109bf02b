"""Word lists of the structural rules. Their names and words are part of the recipe."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _phrases(text: str) -> frozenset[str]:
    return frozenset(" ".join(phrase.split()) for phrase in text.split(";"))


SHELL_UTILITIES = _words(
    """
    alias and awk base64 basename bash bat case cat cd chmod chown clear cmp column comm command
    cp cut date declare df diff dig dirname do done du echo egrep elif else env esac eval exa
    exec exit expect export eza false fd fi file find fold for free function gawk grep gunzip
    gzip head hexdump history hostname id if in jq kill killall less let ln local ls ls-files
    lsd lsof man md5 md5sum mkdir mktemp more mv nc nl node nohup not od open paste pbcopy
    pbpaste perl pgrep ping pkill printenv printf ps pwd python python3 read readlink realpath
    return rev rg rm rmdir rsync ruby scp script sed seq set sh sha256sum shasum sleep sort
    source sqlite3 ssh stat strings tac tail tar tee telnet test the then time top touch tr trap
    tree true type uname uniq unset unzip wait watch wc which while whoami xargs xxd yes yq zip
    zsh
    """
)
"""Programs that say nothing about a project."""
NO_SUBCOMMAND = _words(
    """
    black cmake curl eslint flake8 gofmt jest mypy prettier pytest ruff tsc wget
    """
)
"""Programs whose first argument is not a subcommand."""
WRAPPERS = _words(
    """
    ! builtin command do else env exec nice nohup stdbuf sudo then time
    """
)
"""Words that precede the actual program."""
GENERIC_IDENTIFIERS = _words(
    """
    /clear /dev/null /exit /help /tmp agent anthropic any args argv array bar baz bool boolean
    camelcase claude code context.context ctx data debug dev devops dict docker done eof err
    error errors errors.new example false file files fixme float float64 fmt.errorf fmt.println
    foo github gitlab graphql head html
    ide_opened_file ide_selection important_notes info int int64 integer ipad iphone
    javadoc javascript json json.loads key linkedin linux list localhost macos main map master
    mongodb mysql name nextjs nil no_response nodejs none note null number oauth object openai
    origin path postgresql readme redacted self set snake_case sqlite stderr stdin stdout str
    string strings test tests this tmp todo true type typescript uint64 undefined user value
    void vscode warning wifi windows yaml youtube
    """
)
"""Identifiers that are not specific to a project."""
COMMON_PATH_WORDS = _words(
    """
    about agent agents assets branch build change changes check claude client command commands
    commit common component components config configs const constants could create default
    delete docs error errors example examples export false files first github handler handlers
    helper helpers import index input integration internal local model models other output
    package pages paths plans print project public readme remote request response script scripts
    second server service services setup shared should simple source start state static testing
    tests there these those types update users using util utils value values views which would
    write
    """
)
"""Words in paths that are not topics."""
DEFAULT_BRANCHES = _words(
    """
    dev develop development gh-pages head main master production release staging trunk
    """
)
"""Branches that most projects have."""
VALUE_OPTIONS = _words(
    """
    --constraint --editable --extra --extra-index-url --features --git --group --index-url
    --path --prefix --registry --requirement --root --tag --target --version -C -G -c -e -i -r
    -t
    """
)
"""Options of install commands that take a value, so that the next word is not a package."""
PROJECT_FOLDERS = _words(
    """
    backend cmd doc docs frontend internal lib packages pkg scripts src test tests
    """
)
"""Folders inside a project, not above it."""
READ_ONLY_COMMANDS = _phrases(
    """
    gh api; gh pr checks; gh pr diff; gh pr list; gh pr status; gh pr view; gh run list;
    gh run view;
    gh issue list; gh issue view; gh repo view; go mod graph; go mod why; git fetch; npm outdated;
    brew list; docker images; docker ps; gh auth; git --version; git -c; git add; git apply; git
    blame; git branch; git cat-file; git check-ignore; git checkout; git config; git describe;
    git diff; git fetch; git for-each-ref; git grep; git hash-object; git init; git log; git
    ls-files; git ls-remote; git ls-tree; git merge-base; git name-rev; git reflog; git remote;
    git reset; git rev-list; git rev-parse; git shortlog; git show; git stash; git status; git
    switch; git symbolic-ref; git tag; git update-ref; git worktree list; go doc; go env; go
    list; go version; npm list; npm ls; npm view; pip list; pip show
    """
)
"""Commands that change and test nothing."""
INSTALL_COMMANDS = _phrases(
    """
    apk add; apt install; apt-get install; brew install; bun add; bun install; bundle add; cargo
    add; cargo install; composer require; conda install; dnf install; dotnet add package; gem
    install; go get; go install; mix deps.get; npm add; npm i; npm install; pdm add; pip
    install; pip3 install; pipenv install; pipx install; pnpm add; pnpm i; pnpm install; poetry
    add; rye add; swift package; uv add; uv pip install; yarn add; yum install
    """
)
"""Commands that install packages."""
