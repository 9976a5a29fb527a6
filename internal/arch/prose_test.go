package arch

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A proseRule is one rule of STYLE.md about English. Its expression finds most violations and
// few other texts; reviews find the rest.
type proseRule struct {
	name string
	find *regexp.Regexp
	// hints are the texts of which each match has one, in lower case. To look for them first
	// saves most of the time of the expressions.
	hints []string
}

// software are the subjects that do not speak, believe or want.
const software = `(?:agents?|hubs?|fettle|programs?|machines?|hosts?|targets?|runs?|plans?|lists?|kinds?|journals?|stores?|services?|modules?|commands?|steps?|it|they)`

// proseRules are in the order of STYLE.md.
var proseRules = []proseRule{
	{"free relative", regexp.MustCompile(`(?:^|[.:;!] |\b(?:of|from|for|with|by|than|in|on|and|or|but|to|as|is|are|into) )(?i:what|whom?|whoever|whatever|whichever) [a-z]+\b[^?]*$` +
		`|\b(?i:whoever|whatever|whichever)\b|\b(?:all|everything|anything) that (?:is|are|was|has)\b`),
		[]string{"what", "who", "whichever", " that "}},
	{"actor", regexp.MustCompile(`(?i)\b(?:nobody|somebody|someone|everybody|anybody|people|person|persons)\b`),
		[]string{"body", "someone", "people", "person"}},
	{"software speaks", regexp.MustCompile(`(?i)\b` + software +
		` (?:says?|tells?|told|said|believes?|hears?|heard|looks?|knows?|knew|wants?)\b|\b(?:is|are) (?:told|heard|believed|said|asked)\b`),
		[]string{"say", "told", "tell", "said", "believe", "hear", "look", "know", "knew", "want", "asked"}},
	{"pronoun without a noun",
		regexp.MustCompile(`(?i)\bthose (?:that|who|of|which|with|in|on|from)\b|\b(?:than|like|is|as|and|of) that of\b|\bthe others\b|\bone (?:that|which|whose|of its own)\b|\bthe (?:former|latter)\b`), []string{"those", "that of", "the others", "one that", "one which", "one whose", "one of its own", "former", "latter"}},
	{"vague verb", regexp.MustCompile(`(?i)\b(?:lies|stands|stood|goes|comes|went|came)\b|\b(?:take|takes|taken|took) (?:back|along|away)\b`), []string{"lies", "stand", "stood", "goes", "comes", "went", "came", " back", " along", " away"}},
	{"literary adverb", regexp.MustCompile(`(?i)\b(?:is|are|was|were) other\b|\banew\b|\bas ever\b|\b(?:or|all|nothing|something|anything|somebody|nobody|what|everything) else\b|[;,] else\b|^else\b|\bbesides\b`), []string{"other", "anew", "as ever", "else", "besides"}},
	{"negated noun", regexp.MustCompile(`(?i)\bno more\b(?: than)?|(?:\bthere )?\b(?:is|are|was|were) no (?:[a-z]+)\b`),
		[]string{"no "}},
	{"is to", regexp.MustCompile(`(?i)\b(?:is|are|was|were|has|have|had) to (?:be\b|[a-z]+\b)`), []string{" to "}},
	{"preposition", regexp.MustCompile(
		`(?i)\bin place of\b|\bby way of\b|\bfor ever\b|\bsome \d|\bon top of\b|\bfor good\b`),
		[]string{"place of", "way of", "for ever", "some ", "on top", "for good"}},
}

// proseAllowed are matches of an expression that break no rule.
var proseAllowed = regexp.MustCompile(`(?i)^no more than$|^there |no longer$`)

// longSentence is the number of words that a sentence may have.
const longSentence = 25

// proseFound is a sentence that breaks a rule.
type proseFound struct{ rule, sentence string }

// readProse finds what breaks a rule in one paragraph.
func readProse(paragraph string) []proseFound {
	var all []proseFound
	for _, s := range sentences(paragraph) {
		lower := strings.ToLower(s)
		for _, r := range proseRules {
			if !slices.ContainsFunc(r.hints, func(hint string) bool { return strings.Contains(lower, hint) }) {
				continue
			}
			for _, m := range r.find.FindAllString(s, -1) {
				if !proseAllowed.MatchString(m) {
					all = append(all, proseFound{r.name, s})
				}
			}
		}
		if len(strings.Fields(s)) > longSentence {
			all = append(all, proseFound{"long sentence", s})
		}
	}
	return all
}

var sentenceEnd = regexp.MustCompile(`([.!?:;])(?:["')*]*)\s+`)

// sentences splits a paragraph. A clause after a colon or a semicolon counts as a sentence.
func sentences(paragraph string) []string {
	text := strings.Join(strings.Fields(paragraph), " ")
	parts := strings.Split(sentenceEnd.ReplaceAllString(text, "$1\x00"), "\x00")
	return slices.DeleteFunc(parts, func(s string) bool { return s == "" })
}

// TestProseRules: each rule finds its violation, and accepts the plain form.
func TestProseRules(t *testing.T) {
	for _, c := range []struct{ rule, bad, good string }{
		{"free relative", "What agents ask for.", "Requests from agents."},
		{"actor", "It waits until somebody approves it.", "It waits until an operator approves it."},
		{"software speaks", "The hub believes it.", "The hub trusts the agent."},
		{"pronoun without a noun", "It removes those that are old.", "It removes old objects."},
		{"vague verb", "The journal lies in this directory.", "The journal is stored in this directory."},
		{"literary adverb", "The name is other then.", "The name is different then."},
		{"negated noun", "This is no fact.", "This is not a fact."},
		{"is to", "The mode has to be set.", "Set the mode."},
		{"preposition", "Use a list in place of a map.", "Use a list instead of a map."},
		{"long sentence", strings.Repeat("word ", longSentence+1), strings.Repeat("word ", longSentence)},
	} {
		if got := readProse(c.bad); len(got) != 1 || got[0].rule != c.rule {
			t.Errorf("%q: found %v, want one violation of %q", c.bad, got, c.rule)
		}
		if got := readProse(c.good); len(got) != 0 {
			t.Errorf("%q: found %v, want none", c.good, got)
		}
	}
}
