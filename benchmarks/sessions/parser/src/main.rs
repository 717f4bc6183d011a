fn main() {
    let path = std::env::args().nth(1).expect("name a file");
    let text = std::fs::read_to_string(path).expect("it can be read");
    for (name, value) in parser::parse(&text) {
        println!("{name}: {value}");
    }
}
