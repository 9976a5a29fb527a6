// Package order runs small repositories on a machine in memory and compares what
// was done, in its order, with what the language promises: lazy actions, immediate
// ones, references, blocks, failures.
//
// Each testdata/*.txtar is one repository, of which every command is called
// "did NAME", with the sections
//
//	-- fails --  names of commands that fail, one a line
//	-- trace --  the names in the order in which they ran, and how the run ended
//	-- again --  the same of an apply once more, with nothing failing
package order
