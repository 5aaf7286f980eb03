// A large matrix: its rows and columns, then the elements; the transposed matrix, and the mean with six places.
fn main() {
    let io = &mut io();
    let (rows, columns): (usize, usize) = io.read();
    let matrix: Vec<Vec<i32>> = (0..rows).map(|_| io.vec(columns)).collect();
    for c in 0..columns {
        io.join(matrix.iter().map(|row| row[c]), " ");
    }
    let sum: i64 = matrix.iter().flatten().map(|&x| x as i64).sum();
    out!(io, Fixed(sum as f64 / (rows * columns) as f64, 6));
}
