package query

import (
	"strings"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/functions"
	"fettle.dev/fettle/internal/lang/source"
)

// maxElementText is the maximum length of the key and of the value of an element in bytes, without the mark of a cut.
const maxElementText = 400

// Element is an element of the for_each of a target, module, or scope block.
type Element struct {
	Block string // the label of the block
	Key   string // cut if it is long
	// Value is each.value as JSON, cut if it is long, and "" if it is the key.
	Value string     `json:",omitempty"`
	Range diag.Range // of for_each
}

// elementOf describes an element, nil without one.
func elementOf(e *source.Element) *Element {
	if e == nil {
		return nil
	}
	out := &Element{Block: e.Block, Key: shortened(e.Key), Range: e.Range}
	if e.Value.Type() != cty.String || !e.Value.RawEquals(cty.StringVal(e.Key)) {
		out.Value = shortened(functions.Show(e.Value))
	}
	return out
}

func shortened(text string) string {
	if len(text) <= maxElementText {
		return text
	}
	return strings.ToValidUTF8(text[:maxElementText], "") + "…"
}

// valid reports whether an element that another process described has the limits of a description.
func (e *Element) valid() bool {
	return e == nil || max(len(e.Key), len(e.Value)) <= maxElementText+len("…")
}
