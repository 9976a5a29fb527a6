// Package step is the step language: the plain-text list of atomic operations to which
// configuration compiles. fettle compares and runs these lists.
//
//	MKDIR /srv/www owner=www-data mode=0755          #@ modules/web/module.hcl:10
//	─┬─── ───┬──── ─────────────┬──────────          ───────────┬────────────────
//	verb  subjects          attributes                     source map
//
// # Lines
//
// One step per line, UTF-8, ended by a newline with or without a carriage return before it. A line
// is a verb, its subjects, then its attributes, separated by blanks or tabs. Schemas lists the
// subjects and attributes of each verb. Empty lines are ignored. Limits: MaxLine bytes per line,
// MaxFile bytes per file, MaxSteps steps.
//
//	line      = [ verb { subject } { key "=" value } ] [ comment ]
//	subject   = bare | quoted        a bare one that reads as key=… is an attribute
//	value     = [ bare ] | quoted    nothing is the empty text
//	key       = a-z { a-z | "_" }
//	bare      = visible characters, no double quote, not beginning with ' or `
//	quoted    = a Go string in double quotes: "two words", "a\nb", "\x80"
//	comment   = "#" text             only where a word could begin
//	          | "#@" source          the source map, "file:line"
//
// So a#b is one word, and "#b" and "a=b" must be quoted as subjects. No subject can follow an
// attribute. A key occurs once, unless the schema calls it a list. Control characters and invisible
// characters are allowed only as escapes in quotes, so that the display of a line equals its
// content. NUL is never allowed.
//
// # Canonical form
//
// Step.String prints the canonical form of a step. Attributes are in the schema's order, list keys
// in their own order. Modes have four digits, paths are clean, durations are short, and command
// lines are joined by JoinWords. Values are bare if they read back the same, otherwise quoted by
// strconv.Quote. Parse and String are inverse to each other. This text is the identity of a step:
// the source comment, the spelling and the position in the list do not count. List.Digest names it.
//
// # Command lines
//
// Attributes that are commands (undo, unless, validate …) contain words, split as by a shell
// without any expansion: see SplitWords. No shell runs them.
//
// # Processing of a list
//
//	Parse ──► Resolve ──► Lint ──► Diff ──► FormatDiff
//	lines     includes,   the      two      + and -
//	          digests     whole    lists
package step
