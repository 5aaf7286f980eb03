//! A report as one HTML page that needs nothing else: no script, no font, no network.

use super::block::Block;
use super::table::{Line, Table};
use crate::bench::experiment::Publication;

const STYLE: &str = "\
:root{color-scheme:light dark;--bar:#9aa7b8;--ours:#2f9e5b;--faint:#6b7683;--wrong:#c0392b}
@media(prefers-color-scheme:dark){:root{--bar:#55616f;--ours:#3fbf74;--faint:#93a0ae;--wrong:#ff7b6b}}
body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.25rem;margin-top:2.5rem}h3{font-size:1rem;margin:1.5rem 0 .5rem}
.faint,th{color:var(--faint);font-weight:normal}.wrong{color:var(--wrong)}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.15rem .6rem;text-align:right;white-space:nowrap}
th:first-child,td:first-child{text-align:left}td.bar{width:40%;text-align:left}
td.bar span{display:block;height:.8rem;min-width:1px;background:var(--bar)}
tr.ours td:first-child{color:var(--ours);font-weight:600}tr.ours .bar span{background:var(--ours)}
ul{padding-left:1.2rem;margin:.3rem 0}
";

/// The whole report.
pub(crate) fn document(blocks: &[Block]) -> String {
    let body: String = blocks.iter().map(block).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>outpace bench</title>\n\
         <style>\n{STYLE}</style>\n<h1>outpace bench</h1>\n{body}</html>\n"
    )
}

fn block(block: &Block) -> String {
    match block {
        Block::Origin(text) => format!("<p class=\"faint\">{}</p>\n", escaped(text)),
        Block::Heading {
            title,
            published,
            sources,
        } => {
            let source = |source: &Publication| {
                let mut title = escaped(source.title);
                if let Some(link) = source.link {
                    title = format!("<a href=\"{}\">{title}</a>", escaped(link));
                }
                let year = source
                    .year
                    .map_or_else(String::new, |year| format!(" ({year})"));
                format!("<li>{}, {title}{year}</li>\n", escaped(source.author))
            };
            let list = match sources.iter().map(source).collect::<String>() {
                none if none.is_empty() => none,
                items => format!("<ul class=\"faint\">\n{items}</ul>\n"),
            };
            format!(
                "<h2>{}</h2>\n<p class=\"faint\">{}</p>\n{list}",
                escaped(title),
                escaped(published)
            )
        }
        Block::Table(of) => table(of),
        Block::Warning(text) => format!("<p class=\"wrong\">warning: {}</p>\n", escaped(text)),
        Block::Verdict(text) if text.is_empty() => String::new(),
        Block::Verdict(text) => format!("<p>{}</p>\n", escaped(text)),
        Block::Summary(lines) => {
            let item = |line: &String| format!("<li>{}</li>\n", escaped(line));
            format!(
                "<h2>Summary</h2>\n<ul>\n{}</ul>\n",
                lines.iter().map(item).collect::<String>()
            )
        }
    }
}

fn table(table: &Table) -> String {
    let mut text = format!("<h3>{}</h3>\n", escaped(&table.title));
    if !table.lines.is_empty() {
        let headings = table
            .headings
            .iter()
            .map(|heading| cell("th", &heading.text));
        let bars = table.lines.iter().any(|line| line.share.is_some());
        text += &format!(
            "<div class=\"wide\"><table>\n<tr>{}{}</tr>\n",
            headings.collect::<String>(),
            if bars { "<th></th>" } else { "" }
        );
        text += &table.lines.iter().map(row).collect::<String>();
        text += "</table></div>\n";
    }
    if !table.notes.is_empty() {
        let notes = table.notes.iter().map(|note| {
            let class = if note.wrong { "wrong" } else { "faint" };
            format!("<li class=\"{class}\">{}</li>\n", escaped(&note.text))
        });
        text += &format!("<ul>\n{}</ul>\n", notes.collect::<String>());
    }
    text
}

fn row(line: &Line) -> String {
    let cells: String = line.cells.iter().map(|text| cell("td", text)).collect();
    let bar = line.share.map_or_else(String::new, |share| {
        let percent = share.clamp(0.0, 1.0) * 100.0;
        format!("<td class=\"bar\"><span style=\"width:{percent:.2}%\"></span></td>")
    });
    let class = if line.ours { " class=\"ours\"" } else { "" };
    format!("<tr{class}>{cells}{bar}</tr>\n")
}

fn cell(tag: &str, text: &str) -> String {
    format!("<{tag}>{}</{tag}>", escaped(text))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::view::columns::lines_table;

    #[test]
    fn the_page_has_a_row_and_a_bar_for_every_rung_and_every_tag_is_closed() {
        let table = lines_table(&[("println", "pipe", 417), ("outpace", "pipe", 15)]);
        let page = document(&[
            Block::Origin("a machine <&>".to_owned()),
            Block::Table(table),
            Block::Verdict("done".to_owned()),
        ]);
        assert!(page.contains("a machine &lt;&amp;&gt;"));
        assert_eq!(page.matches("<td class=\"bar\">").count(), 2);
        assert!(
            page.contains("<tr class=\"ours\"><td>outpace</td>"),
            "{page}"
        );
        for tag in ["table", "tr", "td", "th", "p", "h3", "div", "span"] {
            let opened = page.matches(&format!("<{tag}>")).count()
                + page.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
        }
    }
}
