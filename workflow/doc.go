// Package workflow holds workflow definitions: reading them from YAML or JSON
// with positions, their canonical form and its hash, and compiling them.
//
// [Load] reads one document into a [Source]. [Compile] takes a source, pins it
// and every definition it reaches into a [Bundle], checks all of it and links it
// into a [Program], which is what gets executed. A program is made again from
// the pinned bytes alone with [ParseBundle] and [CompileBundle], so a run never
// depends on files that changed since.
//
// # Errors
//
// Everything wrong with a document is reported at once, as [Errors] in the order
// of the file, each with a stable [Code], a position, what was expected and,
// where there is one, a name that was probably meant. [Load] returns a source
// even when there are errors, as far as the document could be understood at
// all; [Compile] reports those errors together with its own:
//
//	src, err := workflow.LoadFile("review.yaml")
//	if src == nil {
//		return err
//	}
//	program, err := workflow.Compile(src, catalog, tools)
//
// # Concurrency
//
// Sources, bundles, programs and catalogs are safe for concurrent use. What
// they point to must not be changed.
package workflow
