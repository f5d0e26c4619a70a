package tree

// Planned gives the rows of a plan that is not run yet. tell says how a step's row
// is marked, and what there is to say of it, by the step's key.
func Planned(outline *Item, tell func(key string) (Mark, string)) []Row {
	var rows []Row
	var add func(it *Item, depth int)
	add = func(it *Item, depth int) {
		row := Row{Depth: depth, Name: it.Name, Detail: it.Detail, Group: it.Group}
		if !it.Group {
			row.Mark, row.Info = tell(it.Key)
		}
		rows = append(rows, row)
		for _, child := range it.Children {
			add(child, depth+1)
		}
	}
	for _, child := range outline.Children {
		add(child, 0)
	}
	return rows
}
