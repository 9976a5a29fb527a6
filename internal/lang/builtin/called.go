package builtin

import (
	"encoding/json"

	"fettle.dev/fettle/internal/lang/query"
)

// ActionOf returns the built-in action with a name, nil if there is none.
func ActionOf(name string) *Action {
	for _, a := range Actions() {
		if a.Name == name {
			return &a
		}
	}
	return nil
}

// CommandOf returns the built-in command with a name, nil if there is none.
func CommandOf(name string) *Command {
	for _, c := range Commands() {
		if c.Name == name {
			return &c
		}
	}
	return nil
}

// ValuesOf returns the given values, and the defaults for missing ones.
func ValuesOf(params []query.Param, given map[string]string) Values {
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
