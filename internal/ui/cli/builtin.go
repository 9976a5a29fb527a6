package cli

import (
	"encoding/json"
	"fmt"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/lang"
	"fettle.dev/fettle/internal/lang/builtin"
)

// builtinAction is the action of that name that is built in; nil: there is none.
func builtinAction(name string) *builtin.Action {
	for _, a := range builtin.Actions() {
		if a.Name == name {
			return &a
		}
	}
	return nil
}

func builtinCommand(name string) *builtin.Command {
	for _, c := range builtin.Commands() {
		if c.Name == name {
			return &c
		}
	}
	return nil
}

// builtinCall is what an action comes to that is built in, on every target.
func builtinCall(a *builtin.Action, params map[string]string, f runningFlags) (executor.Command, error) {
	if err := checkCall(a.Action, params); err != nil {
		return executor.Command{}, err
	}
	return executor.Command{Action: a.Name, Argv: a.Argv(valuesOf(a.Params, params)), Env: []string{"DEBIAN_FRONTEND=noninteractive"},
		Timeout: f.timeout, Looks: !a.Changes}, nil
}

// checkCall tells what is wrong with the parameters of an action, before any target
// is known.
func checkCall(a lang.Action, params map[string]string) error {
	return lang.CheckParams(fmt.Sprintf("the action %q", a.Name), a.ID(), a.Params, params).Err()
}

// valuesOf are those that were given, and else the defaults.
func valuesOf(params []lang.Param, given map[string]string) builtin.Values {
	return func(name string) string {
		if v, ok := given[name]; ok {
			return v
		}
		for _, p := range params {
			var text string
			if p.Name == name && json.Unmarshal([]byte(p.Default), &text) == nil {
				return text
			}
		}
		return ""
	}
}
