-- putStrLn: lines on a terminal, blocks elsewhere.
import System.Environment
main = do { [n] <- getArgs; mapM_ (\i -> putStrLn ("line " ++ show i)) [0 .. read n - 1 :: Int] }
