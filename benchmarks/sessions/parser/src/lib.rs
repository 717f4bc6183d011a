//! Lines of `name = value`.

pub fn parse(text: &str) -> Vec<(String, String)> {
    text.lines()
        .map(|line| {
            let (name, value) = line.split_once('=').expect("a line without `=`");
            (name.trim().to_string(), value.trim().to_string())
        })
        .collect()
}
