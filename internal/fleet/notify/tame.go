package notify

import (
	"errors"
	"reflect"
	"text/template"
	"text/template/parse"
)

// tame refuses templates that could run for a long time, because the execution of a template cannot
// be interrupted. A template may range over fields of a notice, at most two levels deep, and may
// not call templates.
func tame(t *template.Template) error {
	if len(t.Templates()) > 1 {
		return errors.New("cannot use a template that defines other templates")
	}
	return tameNode(t.Root, 0)
}

func tameNode(n parse.Node, deep int) error {
	if n == nil || reflect.ValueOf(n).IsNil() {
		return nil
	}
	switch n := n.(type) {
	case *parse.ListNode:
		for _, each := range n.Nodes {
			if err := tameNode(each, deep); err != nil {
				return err
			}
		}
	case *parse.IfNode:
		return errors.Join(tameNode(n.List, deep), tameNode(n.ElseList, deep))
	case *parse.WithNode:
		return errors.Join(tameNode(n.List, deep), tameNode(n.ElseList, deep))
	case *parse.RangeNode:
		if deep == 2 {
			return errors.New("cannot use a template with ranges more than two levels deep")
		}
		if len(n.Pipe.Cmds) != 1 || len(n.Pipe.Cmds[0].Args) != 1 || n.Pipe.Cmds[0].Args[0].Type() != parse.NodeField &&
			n.Pipe.Cmds[0].Args[0].Type() != parse.NodeVariable {
			return errors.New("cannot use a template with a range over another value than a field: write {{range .Items}}")
		}
		return errors.Join(tameNode(n.List, deep+1), tameNode(n.ElseList, deep))
	case *parse.TemplateNode:
		return errors.New("cannot use a template that calls another template")
	}
	return nil
}
