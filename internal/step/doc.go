// Package step is the step language: the plain-text list of atomic operations
// that everything else compiles to, compares and runs.
//
//	MKDIR /srv/www owner=www-data mode=0755          #@ modules/web/module.hcl:10
//	─┬─── ───┬──── ─────────────┬──────────          ───────────┬────────────────
//	verb  subjects          attributes                     source map
//
// # Lines
//
// One step a line, UTF-8, ended by a newline with or without a carriage return
// before it. A line is a verb, its subjects, then its attributes, with blanks or
// tabs between them. Schemas lists what each verb takes. Empty lines count for
// nothing. Bounds: MaxLine bytes a line, MaxFile bytes a file, MaxSteps steps.
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
// So a#b is one word, and "#b" and "a=b" are quoted when they are subjects.
// After the first attribute there are no more subjects. A key stands once, but
// for those that the schema calls lists. Control characters and characters that
// cannot be seen stand only as escapes inside quotes, so that a line is what it
// looks like. NUL stands nowhere.
//
// # Canonical form
//
// Step.String prints the one form that a step has: attributes in the schema's
// order, list keys in their own; modes as four digits, paths clean, durations
// short, command lines joined by JoinWords; values bare where that reads back
// the same, else as strconv.Quote has them. Parse and String invert each other.
// Identity is that text: source comment, spelling and place in the list take no
// part in it, and List.Digest names it.
//
// # Command lines
//
// Attributes that are commands (undo, unless, validate …) hold words as a shell
// would cut them that expands nothing: see SplitWords. No shell runs them.
//
// # The way of a list
//
//	Parse ──► Resolve ──► Lint ──► Diff ──► FormatDiff
//	lines     includes,   the      two      + and -
//	          digests     whole    lists
package step
