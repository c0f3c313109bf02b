"""Word lists of the structural rules. Their names and words are part of the recipe."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _phrases(text: str) -> frozenset[str]:
    return frozenset(" ".join(phrase.split()) for phrase in text.split(";"))


SHELL_UTILITIES = _words(
    """
    alias and awk base64 basename bash bat bg bind break caller case cat cd chmod chown clear
    cmp column comm command compgen complete compopt continue coproc cp cut date declare df diff
    dig dirname dirs disown do done du echo egrep elif else enable env esac eval exa exec exit
    expect export eza false fc fd fg fi file find fold for free function gawk getopts grep
    gunzip gzip hash head help hexdump history hostname id if in jobs jq kill killall less let
    ln local logout ls ls-files lsd lsof man mapfile md5 md5sum mkdir mktemp more mv nc nl node
    nohup not od open paste pbcopy pbpaste perl pgrep ping pkill popd printenv printf ps pushd
    pwd python python3 read readarray readlink readonly realpath return rev rg rm rmdir rsync
    ruby scp script sed select seq set setopt sh sha256sum shasum shift shopt sleep sort source
    sqlite3 ssh stat strings suspend tac tail tar tee telnet test the then time times top touch
    tr trap tree true type typeset ulimit umask unalias uname uniq unset unsetopt until unzip
    wait watch wc which while whoami xargs xxd yes yq zip zsh
    """
)
"""Programs, builtins and keywords of the shell that say nothing about a project."""
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
LITERALS = _words("false nil none null true undefined")
"""Values of programming languages."""
GENERIC_IDENTIFIERS = LITERALS | _words(
    """
    /clear /dev/null /exit /help /tmp agent anthropic any args argv array bar baz bool boolean
    camelcase claude code context.context ctx data debug dev devops dict docker done eof err
    error errors errors.new example file files fixme float float64 fmt.errorf fmt.println
    foo github gitlab graphql head html
    ide_opened_file ide_selection important_notes info int int64 integer ipad iphone
    javadoc javascript json json.loads key linkedin linux list localhost macos main map master
    mongodb mysql name nextjs no_response nodejs note number oauth object openai
    origin path postgresql readme redacted self set snake_case sqlite stderr stdin stdout str
    string strings test tests this tmp todo type typescript uint64 user value
    void vscode warning wifi windows yaml youtube
    """
)
"""Identifiers that are not specific to a project."""
GENERIC_TOPICS = _words(
    """
    agent answer approach branch case change changes chat code command commit comment comments
    content data default detail details edge error errors example feature file files folder format
    function idea information input issue items kind line lines list message method mode model
    name names number option options output page part parts path place plan point problem project
    prompt prompts question repo request response result results review section server session
    sessions side state step steps string stuff task test tests text thing things time tool tools
    type user users value values version warning words work
    """
)
"""Words that alone are no topic of a decision."""
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
KEYPHRASE_STOP_WORDS = _words(
    """
    able about above absolutely according across actually add additional additionally after again
    against all allow almost along already also although always among amount and another answer any
    anyone anything appropriate are aren't around ask assist assistance available away based basic
    because become been before being below best better between big both bring but call called can
    can't cannot capabilities capability case certain certainly change check choose clear clearly
    come common complete completely consider contain could couldn't course create current currently
    day days deal decide describe design detail detailed details did didn't different difficult do
    does doesn't doing don't done down due during each easily easy effective effectively either else
    end enough ensure especially even every everything exactly example examples excellent explain
    explanation external far few final finally find fine first following follow for form found four
    from fully function further general generate get give given going good got great had happen
    hard has have haven't having hello help helpful her here here's hers hey high him his how
    however hundred idea i'd i'll i'm i've important include includes including individual
    information instead into involve isn't issue it's its itself just keep kind know large last
    later latest learn least less let let's like likely line list little long look looking lot made
    main make makes making many may maybe mean means might more most move much multiple must name
    necessary need needed needs never new next nice non none not note nothing now number off often
    okay once one one's ones only open option options order other others our out over overall own
    part particular people perform perhaps person place please point possible potential prefer
    present problem process proper provide provided provides purpose put question questions quickly
    quite rather read ready real really reason receive recent regarding related relevant request
    required requires response rest result results return right run said same say second see seem
    select send sense set several shall she short should show sign similar simple simply since
    single situation size small some someone something soon sorry sort specific specify start state
    step steps still stop such suggest support suppose sure take taken task tasks tell ten text than
    thank thanks that that's the their them themselves then there there's therefore these they
    thing things think this those though thousand three through thus time times today together told
    tomorrow too top total toward towards true try trying turn two type types under understand
    unless until upon use used useful user using usually value values various very via want wants
    was wasn't way ways we're well were weren't what what's when where whether which while who whole
    whom whose why will wish with within without won't word words work working works would
    wouldn't write writing written wrong year years yes yesterday yet you you'd you'll you're
    you've your yours yourself
    """
)
"""Words that are no topic: function words, and what people say to an assistant in every chat."""
CODE_NOUNS = _words(
    """
    case description example form function information issue line list name number option order
    people problem process question request response result state step support task text total type
    user value words run time day date
    """
)
"""Of these stop words, those that are nouns of code."""
DECISION_WORDS = _words(
    """
    a accepted adopt agent agreed an as at back by chose decided don't drop go going her his i in
    instead it let lets me moved my no of old on opted our over plan prefer preferred preferring
    prefers previous replace replaced replaces so stick switch switched that the to up us user we
    """
)
"""Words of decisions that name nothing."""
ARTICLES = _words(
    """
    a all an any each every existing its new no only our own that the their these this those your
    das dem den der die ein eine einem einen einer keine keinen unser unsere unseren
    el la las los nuestra nuestro todas todos un una
    """
)
TOPIC_LEADS = _words(
    """
    about add as at avoid by cache call convert create drop for from in include introduce into
    keep limit log move name need of on only prefer read remove rename replace return round send
    set show split store support switch test to use using validate want with write
    con de en für im mit ohne para por sin statt usar von
    """
)
"""Verbs and prepositions before what a decision is about."""
MODALS = _words(
    """
    are belongs can defaults goes has is lives may must need needs shall should stays will
    darf debe deben muss müssen soll sollen tiene tienen
    """
)
NO_TOPIC = (
    (KEYPHRASE_STOP_WORDS - CODE_NOUNS)
    | DECISION_WORDS
    | ARTICLES
    | TOPIC_LEADS
    | MODALS
    | _words(
        """
        add adds allow allows avoid call calls convert defaults delete expose fall falls handle
        ignore inverted limit made make makes merge must naming place pass prevent put remove
        rename restore returns round rounds run save skip stay store treat update wait while worth
        zum zur aber als auch auf bitte das dass immer ist nach nehmen nicht nie niemals oder sein
        und verwenden werden wir wird como del hay lugar más nunca pero porque que ser siempre
        vamos vez
        """
    )
)
