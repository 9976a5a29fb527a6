// Package fileblock is the kind file_block: lines between two marks in a file
// that others write too.
//
//	file_block "internal-hosts" {
//	  path    = "/etc/hosts"
//	  content = "10.0.0.1 db1\n10.0.0.2 db2\n"
//	}
package fileblock

import (
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/kind"
)

// Kind gives the kind. The value is fresh at each call.
func Kind() kind.Kind {
	path := kind.PathAttr("path", "the file")
	return kind.Kind{
		Name: "file_block", Main: "name", Free: true, Steps: steps,
		Doc: "Lines between the comments BEGIN fettle NAME and END fettle NAME in a file with other content.",
		Attrs: []kind.Attr{
			{Name: "name", Type: cty.String, Required: true, Doc: "name of the block in the comments; default: the label",
				Check: checkName},
			path,
			{Name: "content", Type: cty.String, Doc: "the lines", Secret: true},
			{Name: "comment", Type: cty.String, Doc: "beginning of comments in this file; default: #", Check: checkName},
			{Name: "create", Type: cty.Bool, Doc: "create a missing file, for root with mode 0644"},
			kind.EnsureAttr(),
		},
	}
}

func checkName(v cty.Value) error {
	if s := v.AsString(); strings.TrimSpace(s) == "" || strings.ContainsAny(s, "\n\r\x00") {
		return fmt.Errorf("the name and the comment of a block are one line and not empty, and this is %q", s)
	}
	return nil
}

func steps(s kind.State) (kind.Output, diag.List) {
	if !s.Absent() && !s.Given("content") {
		return kind.Output{}, diag.List{diag.Errorf(s.Range, "Block without content",
			"Set content. To remove the block, set ensure = \"absent\".")}
	}
	begin, end := " BEGIN fettle "+s.Str("name"), " END fettle "+s.Str("name")
	for line := range strings.Lines(s.Str("content")) {
		if line = strings.TrimSuffix(line, "\n"); strings.HasSuffix(line, begin) || strings.HasSuffix(line, end) {
			if s.Attrs["content"].IsMarked() {
				line = begin[1:]
			}
			return kind.Output{}, s.Errorf("content", "Mark inside the content",
				"The line %q marks the beginning or end of the block. Remove it: these lines are added automatically.", line)
		}
	}
	return s.Edit("block", "content", "comment")
}
