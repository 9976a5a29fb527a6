package syntax

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"fettle.dev/fettle/internal/diag"
)

// The limits of one source text. The recursion of the parser is unlimited, so its input must be
// limited first: a stack overflow cannot be caught.
const (
	// MaxFile is the size of a source or template file in bytes.
	MaxFile = 1 << 20
	// MaxNesting is the maximum depth of nested brackets, blocks and templates.
	MaxNesting = 200
	// MaxOperators is the maximum number of operators inside one another.
	MaxOperators = 1000
)

// Language is one of the three token languages of HCL.
type Language uint8

// The token languages: a file, a template, an expression.
const (
	ConfigSyntax Language = iota
	TemplateSyntax
	ExpressionSyntax
)

// TooLarge refuses a text that is larger than MaxFile.
func TooLarge(src []byte, file string) diag.List {
	if len(src) <= MaxFile {
		return nil
	}
	return diag.List{diag.Errorf(diag.Range{File: file}, "File too large",
		"The file has %d bytes, and the limit is %d. Split it. If it is the content of a file without templates, use source.",
		len(
			src), MaxFile)}
}

// Guard refuses a text that could crash the parser. It returns one diagnostic with a position, or
// none.
func Guard(src []byte, file string, kind Language) diag.List {
	if ds := TooLarge(src, file); ds.HasErrors() {
		return ds
	}
	start := hcl.InitialPos
	var tokens hclsyntax.Tokens
	switch kind {
	case ConfigSyntax:
		tokens, _ = hclsyntax.LexConfig(src, file, start)
	case TemplateSyntax:
		tokens, _ = hclsyntax.LexTemplate(src, file, start)
	case ExpressionSyntax:
		tokens, _ = hclsyntax.LexExpression(src, file, start)
	}
	d := depth{config: kind == ConfigSyntax}
	for i, t := range tokens {
		if what := d.token(tokens, i); what != "" {
			return diag.List{diag.Errorf(RangeOf(t.Range), "Too deeply nested", "%s Split the expression with locals.",
				what).WithLine(src)}
		}
	}
	return nil
}

// depth measures the recursion of the parser: open brackets, and the pending operators in them.
type depth struct {
	config  bool
	open    []nesting
	pending int // pending operators of all open levels, including the current one
	control int // open %{if} and %{for}
}

type nesting struct {
	pending int // of the level itself
	block   bool
}

func (d *depth) token(tokens hclsyntax.Tokens, i int) string {
	switch t := tokens[i].Type; t {
	case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenOQuote,
		hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
		d.pending++
		d.open = append(d.open, nesting{pending: 1, block: t == hclsyntax.TokenOBrace})
		d.directive(tokens, i)
	case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCQuote,
		hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
		d.close()
		if t == hclsyntax.TokenCBrack || t == hclsyntax.TokenCParen {
			d.add() // x[0][0]… is one expression inside another
		}
	case hclsyntax.TokenComma:
		d.reset()
	case hclsyntax.TokenNewline:
		if len(d.open) == 0 || d.open[len(d.open)-1].block {
			d.reset()
		}
	default:
		if isOperator(t) {
			d.add()
		}
	}
	switch {
	case len(d.open) > MaxNesting || d.control > MaxNesting:
		return "Brackets, blocks and templates can be nested at most 200 levels deep."
	case d.pending > MaxOperators+MaxNesting:
		return "An expression can have at most 1,000 operators."
	}
	return ""
}

// directive counts %{if} and %{for}, which nest without brackets.
func (d *depth) directive(tokens hclsyntax.Tokens, i int) {
	if tokens[i].Type != hclsyntax.TokenTemplateControl || i+1 >= len(tokens) {
		return
	}
	switch string(tokens[i+1].Bytes) {
	case "if", "for":
		d.control++
	case "endif", "endfor":
		d.control = max(0, d.control-1)
	}
}

func (d *depth) add() {
	d.pending++
	if n := len(d.open); n > 0 {
		d.open[n-1].pending++
	}
}

func (d *depth) close() {
	n := len(d.open)
	if n == 0 {
		return
	}
	d.pending -= d.open[n-1].pending
	d.open = d.open[:n-1]
}

// reset clears the operators of the innermost level, because a new element begins.
func (d *depth) reset() {
	n := len(d.open)
	if n == 0 {
		d.pending = 0
		return
	}
	d.pending -= d.open[n-1].pending - 1
	d.open[n-1].pending = 1
}

func isOperator(t hclsyntax.TokenType) bool {
	switch t {
	case hclsyntax.TokenStar, hclsyntax.TokenSlash, hclsyntax.TokenPlus, hclsyntax.TokenMinus, hclsyntax.TokenPercent,
		hclsyntax.TokenEqualOp, hclsyntax.TokenNotEqual, hclsyntax.TokenLessThan, hclsyntax.TokenLessThanEq,
		hclsyntax.TokenGreaterThan, hclsyntax.TokenGreaterThanEq, hclsyntax.TokenAnd, hclsyntax.TokenOr,
		hclsyntax.TokenBang, hclsyntax.TokenQuestion, hclsyntax.TokenDot, hclsyntax.TokenFatArrow:
		return true
	}
	return false
}
